import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from penstock import VerificationError, verify


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            message = verify(body, self.headers, Path("endpoint.secret").read_text())
            print(message.type, message.data.run_id, self.headers["webhook-id"], flush=True)
            self.send_response(204)
        except VerificationError as error:
            self.send_response(400, str(error))
        self.end_headers()


HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8000"))), Receiver).serve_forever()
