import assert from "node:assert/strict";
import { type Duplex, duplexPair } from "node:stream";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { portForwardOverSpdy } from "../portforward/port-forward.ts";
import { remoteCommandOverSpdy } from "../remotecommand/over-spdy.ts";
import { FrameWriter } from "./frames.ts";
import { spdySession } from "./session.ts";

type Write = (writer: FrameWriter) => Buffer;

const stream = fc.oneof(fc.constantFrom(1, 3, 5, 7), fc.nat(20));
const headers = fc.record(
  {
    streamType: fc.constantFrom("error", "data", "stdin", "stdout", "resize", "", "\0", "é"),
    port: fc.constantFrom("80", "0", "x", "99999"),
    requestID: fc.constantFrom("1", "2"),
  },
  { requiredKeys: [] },
);
const opening = fc.tuple(stream, headers).map(
  ([id, wanted]): Write =>
    (writer) =>
      writer.synStream(id, wanted as Record<string, string>),
);
const data = fc.tuple(stream, fc.oneof(fc.nat(40), fc.nat(70_000)), fc.boolean()).map(
  ([id, length, fin]): Write =>
    (writer) =>
      Buffer.concat([writer.dataHead(id, length, fin), Buffer.alloc(length, "x")]),
);
const rest = fc.oneof(
  stream.map(
    (id): Write =>
      (writer) =>
        writer.synReply(id),
  ),
  fc.tuple(stream, fc.nat(6)).map(
    ([id, status]): Write =>
      (writer) =>
        writer.reset(id, status),
  ),
  fc.nat().map(
    (id): Write =>
      (writer) =>
        writer.ping(id),
  ),
);
const end = stream.map(
  (id): Write =>
    (writer) =>
      writer.goAway(id),
);
const frames = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: opening },
    { weight: 4, arbitrary: data },
    { weight: 4, arbitrary: rest },
    { weight: 1, arbitrary: end },
  ),
  { maxLength: 20 },
);
/** Replacements for bytes, by offset. */
const changes = fc.oneof(fc.constant([]), fc.array(fc.tuple(fc.nat(2000), fc.nat(255)), { maxLength: 6 }));
/** Sizes of the chunks in which the bytes arrive, repeated. */
const steps = fc.array(fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 100_000 })), {
  minLength: 1,
  maxLength: 4,
});

/** Consumers of connections; each promise resolves at the end of its connection. */
const readers: Readonly<Record<string, (socket: Duplex) => Promise<void>>> = {
  session: (socket) => spdySession(socket, "server", { onStream: (stream) => stream.pipe(stream) }).closed,
  portForward: (socket) =>
    portForwardOverSpdy(socket, ({ data, error }) => {
      data.resume();
      error.end("no");
    }).closed,
  async remoteCommand(socket) {
    const wanted = { stdin: true, stdout: true, stderr: false, tty: true };
    const command = await remoteCommandOverSpdy(socket, wanted, "v4.channel.k8s.io").catch(() => undefined);
    command?.stdin?.resume();
    for await (const _ of command?.sizes ?? []);
    await command?.finish({ status: "Success", metadata: {} });
  },
};

for (const [name, reader] of Object.entries(readers)) {
  test(`${name}: random frames do not throw, and the session ends with its connection`, async () => {
    const property = fc.asyncProperty(
      frames,
      changes,
      steps,
      fc.boolean(),
      async (parts, changed, sizes, breaks) => {
        const writer = new FrameWriter();
        const bytes = Buffer.concat(parts.map((write) => write(writer)));
        for (const [at, value] of changed) if (at < bytes.length) bytes[at] = value;
        const [near, far] = duplexPair();
        for (const socket of [near, far]) socket.on("error", () => {});
        near.resume();
        let over = false;
        const ended = reader(far).then(() => {
          over = true;
        });
        for (let at = 0, step = 0; at < bytes.length; step++) {
          const size = sizes[step % sizes.length]!;
          near.write(bytes.subarray(at, at + size));
          at += size;
          if (step % 50 === 0) await turn();
        }
        if (breaks) for (const socket of [near, far]) socket.destroy();
        else near.end();
        for (let turns = 0; !over && turns < 10_000; turns++) await turn();
        assert.ok(over, "it goes on without its connection");
        await ended;
      },
    );
    await fc.assert(property, { seed: 20261121, numRuns: 300 });
  });
}
