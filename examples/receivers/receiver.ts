import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { verify } from '@penstock/sdk';

const server = createServer(async (request, response) => {
  try {
    const secret = readFileSync('endpoint.secret', 'utf8');
    const message = await verify(await buffer(request), request.headers, secret);
    console.log(message.type, message.data.run_id, request.headers['webhook-id']);
    response.writeHead(204).end();
  } catch (error) {
    console.error(String(error));
    response.writeHead(400).end();
  }
});
server.listen(Number(process.env.PORT ?? 8000), '127.0.0.1');
