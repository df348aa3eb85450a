import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { constants, deflateSync } from "node:zlib";
import { type SpdyOptions, type SpdySession, type SpdyStream, spdySession } from "../index.ts";
import { sockets } from "../testing/sockets.ts";
import { headerDictionary } from "./dictionary.ts";

async function sessions(
  onStream: (stream: SpdyStream) => void,
): Promise<{ client: SpdySession; server: SpdySession; near: Socket; far: Socket; close(): void }> {
  const pair = await sockets();
  return {
    ...pair,
    client: spdySession(pair.near, "client"),
    server: spdySession(pair.far, "server", { onStream }),
  };
}

/** A server, and a raw socket to send it arbitrary bytes. */
async function hostile(
  options: SpdyOptions = {},
): Promise<{ near: Socket; session: SpdySession; close(): void }> {
  const pair = await sockets();
  const session = spdySession(pair.far, "server", { onStream: () => {}, ...options });
  return { ...pair, session };
}

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");

test("a stream carries its headers, and data both ways, each half closed on its own", async () => {
  const { client, server, close } = await sessions((stream) => {
    assert.equal(stream.headers["streamtype"], "stdin");
    assert.equal(stream.headers["port"], "80");
    stream.pipe(stream);
  });
  const stream = await client.createStream({ streamType: "stdin", port: "80" });
  assert.equal(stream.id, 1);
  const sent = Buffer.alloc(3_000_000, "0123456789");
  stream.end(sent);
  assert.ok((await buffer(stream)).equals(sent));
  assert.equal((await client.createStream({ streamtype: "stdin", port: "80" })).id, 3);
  client.close();
  await Promise.all([client.closed, server.closed]);
  close();
});

test("many streams take turns on one connection", async () => {
  const { client, close } = await sessions((stream) => stream.pipe(stream));
  const answers = Array.from({ length: 200 }, async (_, index) => {
    const stream = await client.createStream({ port: String(index) });
    stream.end(String(index).repeat(10_000));
    return text(stream);
  });
  for (const [index, answer] of (await Promise.all(answers)).entries()) {
    assert.equal(answer, String(index).repeat(10_000));
  }
  close();
});

test("destroy resets: the other side reads the end, and cannot write any more", async () => {
  let theirs: SpdyStream | undefined;
  const { client, close } = await sessions((stream) => {
    theirs = stream;
  });
  const stream = await client.createStream({});
  stream.write("last words");
  stream.destroy();
  const closed = once(theirs!, "close");
  assert.equal(await text(theirs!), "last words");
  await closed;
  assert.equal(theirs!.destroyed, true);
  close();
});

test("createStream rejects a refused stream; other streams go on", async () => {
  const { client, close } = await sessions((stream) => {
    if (stream.headers["bad"]) throw new Error("no");
    stream.pipe(stream);
  });
  await assert.rejects(client.createStream({ bad: "1" }), /refused/);
  const stream = await client.createStream({});
  stream.end("x");
  assert.equal(await text(stream), "x");
  close();
});

test("pings are answered", async () => {
  const { client, server, close } = await sessions(() => {});
  await Promise.all([client.ping(), client.ping(), server.ping()]);
  close();
});

test("an unread stream causes back-pressure on its connection instead of filling memory", async () => {
  let theirs: SpdyStream | undefined;
  const { client, far, close } = await sessions((stream) => {
    theirs = stream;
  });
  const stream = await client.createStream({});
  let written = 0;
  const chunk = Buffer.alloc(65_536);
  const pump = (): void => {
    while (written < 64 * 2 ** 20 && stream.write(chunk)) written += chunk.length;
  };
  stream.on("drain", pump);
  pump();
  while (!far.isPaused()) await turn();
  for (let i = 0; i < 50; i++) await turn();
  assert.ok(written < 32 * 2 ** 20, `${written} bytes were taken`);
  let read = 0;
  for await (const part of theirs! as AsyncIterable<Buffer>) {
    read += part.length;
    if (read >= 64 * 2 ** 20) break;
  }
  close();
});

test("when a connection breaks, streams end after what has come, and sessions are over", async () => {
  const { client, server, near, close } = await sessions((stream) => {
    stream.write("so far");
  });
  const stream = await client.createStream({});
  const said = text(stream);
  const opening = client.createStream({});
  await opening;
  near.destroy();
  await Promise.all([client.closed, server.closed]);
  assert.equal(await said, "so far");
  await assert.rejects(client.createStream({}), /has ended/);
  await client.ping();
  close();
});

test("close delivers written data", async () => {
  const { client, server, close } = await sessions((stream) => {
    stream.end(Buffer.alloc(1_000_000), () => server.close());
  });
  const stream = await client.createStream({});
  assert.equal((await buffer(stream)).length, 1_000_000);
  await client.closed;
  close();
});

test("headers compressed with the dictionary of SPDY/3 are read, one stream of zlib over all frames", async () => {
  const seen: string[] = [];
  const { near, close } = await hostile({ onStream: (stream) => seen.push(JSON.stringify(stream.headers)) });
  const block = (name: string, value: string): Buffer => {
    const bytes = Buffer.alloc(12 + name.length + value.length);
    bytes.writeUInt32BE(1);
    bytes.writeUInt32BE(name.length, 4);
    bytes.write(name, 8);
    bytes.writeUInt32BE(value.length, 8 + name.length);
    bytes.write(value, 12 + name.length);
    return bytes;
  };
  const plain = [
    block("streamtype", "error"),
    block("streamtype", "data"),
    block("content-type", "text/plain"),
  ];
  let before = 0;
  for (const [index, _] of plain.entries()) {
    // The bytes of this block, from a compressor with one flush per block.
    const whole = compressed(plain.slice(0, index + 1));
    const packed = whole.subarray(before);
    before = whole.length;
    const head = Buffer.alloc(18);
    head.set([0x80, 3, 0, 1]);
    head.writeUInt32BE(10 + packed.length, 4);
    head.writeUInt32BE(2 * index + 1, 8);
    near.write(Buffer.concat([head, packed]));
  }
  while (seen.length < 3) await turn();
  assert.deepEqual(seen, [
    '{"streamtype":"error"}',
    '{"streamtype":"data"}',
    '{"content-type":"text/plain"}',
  ]);
  close();
});

/** Blocks of one zlib stream with the dictionary, each flushed to a whole byte. */
function compressed(blocks: readonly Buffer[]): Buffer {
  // deflateSync cannot flush in between: each block is deflated with what came before as its window.
  const parts = blocks.map((block, index) => {
    const window = Buffer.concat([headerDictionary, ...blocks.slice(0, index)]);
    const packed = deflateSync(block, { dictionary: window, finishFlush: constants.Z_SYNC_FLUSH, level: 9 });
    return packed.subarray(6);
  });
  const head = deflateSync("", { dictionary: headerDictionary }).subarray(0, 6);
  return Buffer.concat([head, ...parts]);
}

test("malformed SPDY/3.1 ends the connection without throwing", async () => {
  const bomb = deflateSync(Buffer.alloc(50_000_000), { dictionary: headerDictionary });
  const attacks: readonly Buffer[] = [
    hex("8003 0001 00ffffff"),
    hex("8002 0001 0000000a 00000001 00000000 0000"),
    hex("8003 00ff 00000004 00000001"),
    hex("8003 0001 00000004 00000001"),
    hex("8003 0001 0000000e 00000001 00000000 0000 deadbeef"),
    hex("8003 0001 00000010 00000001 00000000 0000 7801 deadbeef"),
    hex("00000000 00000004 00000000"),
    Buffer.concat([
      hex("8003 0001"),
      Buffer.from([0, 0, (10 + bomb.length) >> 8, (10 + bomb.length) & 0xff]),
      hex("00000001 00000000 0000"),
      bomb,
    ]),
    // One stored block that announces 2^32-1 headers.
    hex("8003 0001 00000015 00000001 00000000 0000 7801 00 0400 fbff ffffffff"),
  ];
  for (const attack of attacks) {
    const { near, session, close } = await hostile();
    near.write(attack);
    await session.closed;
    close();
  }
});

test("ignores frames of unknown streams and unused types", async () => {
  const { near, session, close } = await hostile();
  const frames = [
    // SETTINGS, WINDOW_UPDATE, data, reset and reply of streams that are not open.
    "8003 0004 00000004 00000000",
    "8003 0009 00000008 00000001 00010000",
    "00000009 01000004 01020304",
    "8003 0003 00000008 00000009 00000005",
    // A ping of ours that was never sent.
    "8003 0006 00000004 00000002",
  ];
  for (const frame of frames) near.write(hex(frame));
  // A stream with an even id is the server's to open: reset with a protocol error.
  near.write(hex("8003 0001 0000001a 00000002 00000000 0000 7801 00 0400 fbff 00000000 00 0000 ffff"));
  near.write(hex("8003 0006 00000004 00000007"));
  const answer: Buffer[] = [];
  near.on("data", (bytes: Buffer) => answer.push(bytes));
  while (Buffer.concat(answer).length < 28) await turn();
  assert.equal(
    Buffer.concat(answer).toString("hex"),
    "80030003000000080000000200000001" + "800300060000000400000007",
  );
  session.close();
  close();
});

test("a peer that sends pings without reading responses causes back-pressure", async () => {
  const { near, far, close } = await (async () => {
    const pair = await sockets();
    spdySession(pair.far, "server", { onStream: () => {} });
    return pair;
  })();
  near.pause();
  const pings = Buffer.concat(Array.from({ length: 5000 }, () => hex("8003 0006 00000004 00000001")));
  let sent = 0;
  while (!far.isPaused() && sent < 200 * 2 ** 20) {
    if (!near.write(pings)) await Promise.race([once(near, "drain"), turn()]);
    sent += pings.length;
    await turn();
  }
  assert.ok(far.isPaused());
  assert.ok(far.writableLength < 8 * 2 ** 20);
  close();
});
