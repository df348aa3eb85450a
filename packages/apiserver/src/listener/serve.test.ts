import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import { type ApiResponse, silentLog, type WatchFrame } from "@dray/client";
import { fakeClock } from "@dray/testing/clock";
import type { Exchange } from "../http/exchange.ts";
import { Service } from "./serve.ts";

const MiB = 2 ** 20;

/** Events that come one by one to all watches that have begun. */
class Events {
  readonly #frames: WatchFrame[] = [];
  #next = Promise.withResolvers<void>();

  send(bytes: Uint8Array): void {
    this.#frames.push({ bytes: () => bytes } as WatchFrame);
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  async *watch(signal: AbortSignal): AsyncGenerator<WatchFrame> {
    for (let index = 0; !signal.aborted; index++) {
      while (index >= this.#frames.length && !signal.aborted) {
        const gone = new Promise<void>((resolve) =>
          signal.addEventListener("abort", () => resolve(), { once: true }),
        );
        await Promise.race([this.#next.promise, gone]);
      }
      if (!signal.aborted) yield this.#frames[index]!;
    }
  }
}

/** One watcher. A silent one reads nothing: written bytes stay where they are. */
class Watcher {
  /** Bytes that were taken from the server; a silent watcher never sends them. */
  taken = 0;
  /** The first byte of each event. */
  readonly seen: number[] = [];
  isDisconnected = false;
  readonly exchange: Exchange;

  constructor(silent: boolean, eventLength: number) {
    const answer = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (this.taken % eventLength === 0) this.seen.push(chunk[0]!);
        this.taken += chunk.length;
        if (!silent) setImmediate(done);
      },
    });
    const socket = { bytesRead: 0, getPeerCertificate: () => undefined } as unknown as TLSSocket;
    const begin = (): void => {};
    const abort = (): void => {
      this.isDisconnected = true;
      answer.destroy();
    };
    this.exchange = {
      ...{ method: "GET", url: "/", headers: {}, socket, body: undefined, answer, hasBegun: true },
      ...{ begin, beginStream: begin, sendEmpty: begin, discardBody: begin, handOver: begin, abort },
      end: () => void answer.end(),
    };
  }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
}

test("thousands of silent watchers neither delay others nor use unbounded memory", async (t) => {
  const clock = fakeClock();
  const events = new Events();
  const handle = async ({ signal }: { signal: AbortSignal }): Promise<ApiResponse> => ({
    ...{ type: "watch", status: 200, headers: {} },
    events: events.watch(signal),
  });
  const service = new Service({
    handler: { handle, refusal: () => undefined },
    clock,
    log: silentLog,
    progressTimeout: 60_000,
  });
  const length = 200_000;
  const silent = Array.from({ length: 3000 }, () => new Watcher(true, length));
  const readers = Array.from({ length: 20 }, () => new Watcher(false, length));
  t.after(() => {
    for (const { exchange } of [...silent, ...readers]) exchange.answer.destroy();
  });
  for (const { exchange } of [...silent, ...readers]) service.serve(exchange);
  await turns(5);
  const sent = [...Array(10).keys()];
  for (const event of sent) {
    events.send(new Uint8Array(length).fill(event));
    await turns(20);
  }
  // No time has passed.
  for (const { seen, taken } of readers) {
    assert.deepEqual(seen, sent);
    assert.equal(taken, sent.length * length);
  }
  const copied = (): number =>
    silent.reduce(
      (sum, { isDisconnected, exchange }) => sum + (isDisconnected ? 0 : exchange.answer.writableLength),
      0,
    );
  assert.ok(copied() <= 3000 * 32 * 1024, `${copied() / MiB} MiB before a second has passed`);
  clock.advance(1_000);
  await turns(10);
  assert.ok(copied() <= 64 * MiB, `${copied() / MiB} MiB`);
  const cut = silent.filter(({ isDisconnected }) => isDisconnected).length;
  assert.ok(cut >= 952 && cut < 1000, `${cut} were cut off`);
  // In the order in which they began, the longest wait first.
  assert.ok(silent.slice(0, cut).every(({ isDisconnected }) => isDisconnected));
  assert.ok(readers.every(({ isDisconnected }) => !isDisconnected));
  // The others have a minute, as they would without them.
  clock.advance(60_000);
  await turns(10);
  assert.ok(silent.every(({ isDisconnected }) => isDisconnected));
});
