import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { type Screen, startProgress } from "./progress.ts";
import { applyVerbosity } from "./verbosity.ts";

afterEach(() => applyVerbosity({ verbose: 0 }, "test"));

const clear = "\r\u001b[2K";
function afterClear(text: string): string {
  assert.ok(text.startsWith(clear), text);
  return text.slice(clear.length);
}

function fakeScreen(isTTY: boolean, columns = 80): Screen & { time: number; written: string } {
  const fake = {
    time: 0,
    written: "",
    now: () => fake.time,
    stream: {
      isTTY,
      columns,
      write: (text: string) => {
        fake.written += text;
        return true;
      },
    },
  };
  return fake as typeof fake & Screen;
}

test("on a terminal a line says what is done once it takes a while, and goes away", () => {
  const screen = fakeScreen(true, 30);
  const progress = startProgress("Starting", {}, { on: screen, env: {} });
  progress.update("Starting the control plane");
  screen.time = 300;
  progress.update("too early");
  assert.equal(screen.written, "");
  screen.time = 500;
  progress.update("Waiting for nodes");
  assert.match(afterClear(screen.written), /^\S Waiting for nodes$/);
  screen.written = "";
  screen.time = 550;
  progress.update("so soon");
  assert.equal(screen.written, "", "not more often than a person can see");
  screen.time = 2600;
  progress.update("a text that is longer than the terminal is wide");
  assert.match(afterClear(screen.written), /^.{29}$/);
  screen.written = "";
  progress.stop();
  assert.equal(screen.written, clear);
  progress.stop();
  assert.equal(screen.written, clear);
});

test("show() before work that blocks the event loop writes at once", () => {
  const screen = fakeScreen(true);
  const progress = startProgress("Starting", {}, { on: screen, env: {} });
  progress.show("Reading a large file");
  assert.match(afterClear(screen.written), /^\S Reading a large file$/);
  progress.stop();
});

test("nothing is written into a pipe, a CI log or a dumb terminal, nor with --quiet", () => {
  for (const [isTTY, env, verbose] of [
    [false, {}, 0],
    [true, { CI: "true" }, 0],
    [true, { TERM: "dumb" }, 0],
    [true, {}, -1],
  ] as const) {
    applyVerbosity({ verbose: 0, quiet: verbose < 0 }, "test");
    const screen = fakeScreen(isTTY);
    const progress = startProgress("Starting", {}, { on: screen, env });
    screen.time = 5000;
    progress.update("Waiting");
    progress.stop();
    assert.equal(screen.written, "");
  }
});

test("with --verbose each step is a line with its time, in a pipe too", () => {
  applyVerbosity({ verbose: 1 }, "test");
  const screen = fakeScreen(false);
  const progress = startProgress("Starting", {}, { on: screen, env: {} });
  screen.time = 1200;
  progress.update("Waiting for nodes: 0 of 2");
  screen.time = 1500;
  progress.update("Waiting for nodes: 1 of 2");
  screen.time = 3200;
  progress.stop();
  assert.equal(screen.written, "Starting: 1.2 s\nWaiting for nodes: 1 of 2: 2.0 s\n");
});

test("where no line can be erased, a step that takes three seconds is a line", () => {
  const screen = fakeScreen(false);
  const progress = startProgress("Starting", { everywhere: true }, { on: screen, env: {} });
  screen.time = 2_900;
  progress.update("Starting the control plane");
  screen.time = 5_800;
  progress.update("Waiting for the nodes: 0 of 2 are ready");
  assert.equal(screen.written, "");
  screen.time = 8_900;
  progress.update("Waiting for the nodes: 1 of 2 are ready");
  assert.equal(screen.written, "Waiting for the nodes: 0 of 2 are ready: 8 s so far\n");
  progress.stop();
});
