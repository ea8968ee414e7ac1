import { once } from 'node:events';
import { createServer } from 'node:http';

/** The least that a page can do which shows a list of runs: it asks for the same JSON, and writes it into a table. */
const page = `<!doctype html><meta charset="utf-8"><title>bare</title>
<table aria-label="Runs"><tbody></tbody></table><button>Older</button>
<script>
  let n = 0;
  async function show() {
    const { runs } = await (await fetch('/rows')).json();
    n++;
    document.querySelector('tbody').replaceChildren(...runs.map((run) => {
      const row = document.createElement('tr');
      const link = document.createElement('a');
      link.href = '/runs/' + run.run_id + '?' + n;
      link.textContent = run.title;
      row.insertCell().append(link);
      for (const text of [run.state, run.source, run.agent_config?.name, run.creator?.display_name, run.run_time, run.created_at]) {
        row.insertCell().textContent = text ?? '';
      }
      return row;
    }));
  }
  document.querySelector('button').onclick = show;
  show();
</script>`;

/** Serves that page, whose list is always the same bytes. It ends with the process. */
export async function serveBare(rows) {
  const server = createServer((request, response) => {
    const [type, body] = request.url === '/rows' ? ['application/json', rows] : ['text/html; charset=utf-8', page];
    response.writeHead(200, { 'Content-Type': type }).end(body);
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}/`;
}
