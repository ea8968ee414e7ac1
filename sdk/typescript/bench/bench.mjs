// Measures the built package beside bare fetch, against the server of PENSTOCK_BASE_URL; `make bench` runs it.
//
//     node --expose-gc bench.mjs RUN EVENTS
//
// RUN is a run with at least EVENTS events in its log. Prints one JSON object: the median time of a GET in seconds (by the package, by
// fetch alone), and the bytes that are held more after all events than after the first thousand.
import { Penstock } from '../dist/esm/index.js';

const calls = 1000;
const turn = 50;

/** The median of each call in seconds; they take turns, so that the machine is the same to all. */
async function inTurns(...list) {
  const took = list.map(() => []);
  for (let n = 0; n < calls / turn; n++) {
    for (const [i, call] of list.entries()) {
      for (let m = 0; m < turn; m++) {
        const start = performance.now();
        await call();
        took[i].push((performance.now() - start) / 1000);
      }
    }
  }
  return took.map((times) => times.sort((a, b) => a - b)[times.length / 2]);
}

/** A GET by the package, and the same by fetch alone with the JSON read. */
async function overhead(client, run) {
  const url = `${process.env.PENSTOCK_BASE_URL}/api/v1/agent/runs/${run}`;
  const headers = { Accept: 'application/json', Authorization: `Bearer ${process.env.PENSTOCK_API_KEY}` };
  const list = [() => client.runs.get(run), async () => (await fetch(url, { headers })).json()];
  await inTurns(...list); // compiled, and connected
  const [get, bare_get] = await inTurns(...list);
  return { get, bare_get };
}

/** What is held once everything that waits has been done. */
async function held() {
  await new Promise((done) => setImmediate(done));
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** How much more is held after all events than after the first thousand. */
async function growth(client, run, events) {
  const at = new Map();
  let seen = 0;
  for await (const _ of client.runs.events(run)) {
    seen++;
    if (seen === 1000 || seen === events) {
      at.set(seen, await held());
    }
    if (seen === events) {
      break;
    }
  }
  return at.get(events) - at.get(1000);
}

const [run, events] = process.argv.slice(2);
const client = new Penstock();
process.stdout.write(JSON.stringify({ ...(await overhead(client, run)), growth: await growth(client, run, Number(events)) }));
