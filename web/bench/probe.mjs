/*
 * What is put into a page before its own scripts. A time is one of performance.now(), so it counts from the beginning of the navigation.
 */

/** Makes `bench` in the page. It is handed over as text, so it uses nothing from outside of itself. */
export function probe() {
  const tasks = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries())).observe({ type: 'longtask', buffered: true });

  /** Resolves with the time at which the frame in which seen() has become true is done. */
  const painted = (seen) =>
    new Promise((resolve) => {
      const look = () => {
        if (!seen()) {
          return;
        }
        watch.disconnect();
        requestAnimationFrame(() => {
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = () => resolve(performance.now()); // comes after style, layout and paint of this frame
          port2.postMessage(0);
        });
      };
      const watch = new MutationObserver(look);
      watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
      look();
    });

  /** The runs that the table shows, as one text. */
  const runs = () =>
    Array.from(document.querySelectorAll('table[aria-label="Runs"] tbody a'), (link) => link.getAttribute('href')).join(' ');

  /** Begins to wait until the table shows other runs, and returns a function for the milliseconds from the last event of a type until then. */
  const change = (type) => {
    const before = runs();
    let began = 0;
    const note = (event) => {
      began = event.timeStamp;
    };
    addEventListener(type, note, { capture: true });
    const done = painted(() => runs() !== before).then((at) => {
      removeEventListener(type, note, { capture: true });
      return at - began;
    });
    return () => done;
  };

  /** Resolves with the time at which so many runs were painted and the last long task was over, of which none begins within `quiet` after it. */
  const interactive = async (rows, quiet) => {
    const at = await painted(() => document.querySelectorAll('table[aria-label="Runs"] tbody a').length >= rows);
    for (;;) {
      const end = Math.max(at, ...tasks.map((task) => task.startTime + task.duration));
      const left = end + quiet - performance.now();
      if (left <= 0) {
        return end;
      }
      await new Promise((resolve) => setTimeout(resolve, left));
    }
  };

  /** The milliseconds between neighboring frames, for a while. */
  const frames = (milliseconds) =>
    new Promise((resolve) => {
      const gaps = [];
      let first;
      let last;
      const frame = (now) => {
        if (last !== undefined) {
          gaps.push(now - last);
        }
        first ??= now;
        last = now;
        if (now - first < milliseconds) {
          requestAnimationFrame(frame);
        } else {
          resolve(gaps);
        }
      };
      requestAnimationFrame(frame);
    });

  window.bench = { painted, runs, change, interactive, frames };
}
