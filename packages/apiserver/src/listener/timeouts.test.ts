import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:http2";
import { connect as tcpConnect } from "node:net";
import { type TestContext, test } from "node:test";
import { connect as tlsConnect } from "node:tls";
import { type Clock, systemClock } from "@dray/client";
import { realTime } from "@dray/testing/eventually";
import { testServer } from "../testing/server.ts";
import { testServing } from "../testing/serving.ts";
import type { ListenOptions } from "./listener.ts";

const serving = await testServing();
const authorization = "Bearer admin-token";

/** The system's clock, except that delays within these bounds elapse when the test calls `pass`. */
function partialClock(minDelay: number, maxDelay: number): Clock & { pass(milliseconds: number): void } {
  let ahead = 0;
  const timers = new Set<{ at: number; run: () => void }>();
  return {
    now: () => systemClock.now() + ahead,
    after(milliseconds, run) {
      // A minute is the timeout of a request.
      if (milliseconds < minDelay || milliseconds > maxDelay || milliseconds === 60_000)
        return systemClock.after(milliseconds, run);
      const timer = { at: this.now() + milliseconds, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    pass(milliseconds) {
      ahead += milliseconds;
      for (const timer of [...timers]) {
        if (timer.at > this.now() || !timers.delete(timer)) continue;
        timer.run();
      }
    },
  };
}

async function listening(t: TestContext, options: ListenOptions = {}, clock: Clock = systemClock) {
  const { server, call } = await testServer({ serving, clock });
  t.after(() => server.close());
  const { port, url } = await server.listen(options);
  return { port, url, call };
}

const tls = (port: number) => tlsConnect({ port, host: "127.0.0.1", ca: serving.clientAuthority });

test("a connection without a TLS handshake is closed", async (t) => {
  const { port } = await listening(t, { timeouts: { header: 200 } });
  const socket = tcpConnect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.resume();
  await once(socket, "close");
});

test("a connection with slow or missing headers is closed over HTTP/1.1", async (t) => {
  // The timeout of a handshake is as long, but by this clock: it never elapses, however slow the machine is.
  const clock = partialClock(300, 300);
  const { port } = await listening(t, { timeouts: { header: 300 } }, clock);
  for (const text of ["GET /version HTTP/1.1\r\nHost: x\r\nX: ", ""]) {
    const socket = tls(port);
    socket.on("error", () => {});
    await once(socket, "secureConnect");
    socket.write(text);
    const drip = setInterval(() => text !== "" && socket.writable && socket.write("y"), 50);
    socket.resume();
    await once(socket, "close");
    clearInterval(drip);
  }
});

test("an idle connection is kept alive for a while, and then closed, over HTTP/1.1", async (t) => {
  const { port } = await listening(t, { timeouts: { idle: 300 } });
  const socket = tls(port);
  socket.write(`GET /livez HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
  assert.match(String((await once(socket, "data"))[0]), /^HTTP\/1\.1 200 .*\r\nKeep-Alive: timeout=/s);
  await once(socket, "close");
});

test("an idle connection is closed with GOAWAY, one with a watch is not, over HTTP/2", async (t) => {
  const clock = partialClock(1_000, 90_000);
  const { url } = await listening(t, {}, clock);
  const [idle, busy] = [0, 1].map(() => connect(url, { ca: serving.clientAuthority }));
  t.after(() => busy!.destroy());
  await once((await ask(idle!, "/livez")).resume(), "close");
  const watch = await ask(busy!, "/api/v1/namespaces?watch=true");
  watch.resume();
  let lost = false;
  busy!.on("close", () => {
    lost = true;
  });
  clock.pass(89_000);
  await once((await ask(idle!, "/livez")).resume(), "close");
  const farewell = once(idle!, "goaway");
  const closed = once(idle!, "close");
  // The server notices the end of the request after its client.
  const passing = setInterval(() => clock.pass(30_000), 20);
  assert.equal((await farewell)[0], 0);
  await closed;
  clearInterval(passing);
  assert.equal(lost, false);
  assert.equal(watch.destroyed, false);
});

async function ask(session: ReturnType<typeof connect>, path: string) {
  const stream = session.request({ ":path": path, authorization });
  stream.on("error", () => {});
  const [headers] = await once(stream, "response");
  assert.equal(headers[":status"], 200);
  return stream;
}

test("a client that reads nothing of a large response is disconnected over HTTP/1.1 and HTTP/2", async (t) => {
  // A minute, and 20 MB at 64 KiB a second.
  const clock = partialClock(360_000, 400_000);
  const { port, url, call } = await listening(t, {}, clock);
  const maps = "/api/v1/namespaces/default/configmaps";
  for (let index = 0; index < 20; index++) {
    const body = { metadata: { name: `m${index}` }, data: { text: "x".repeat(1_000_000) } };
    assert.equal((await call("POST", maps, { body })).status, 201);
  }
  const socket = tls(port);
  socket.on("error", () => {});
  socket.write(`GET ${maps} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
  await once(socket, "readable");
  const session = connect(url, { ca: serving.clientAuthority });
  t.after(() => session.destroy());
  const stream = await ask(session, maps);
  await realTime(100, "nothing says that the buffers of both connections are full");
  clock.pass(1_000_000);
  // Bytes that were sent earlier still arrive; then the stream ends.
  const ended = [once(socket, "close"), once(stream, "close")];
  socket.resume();
  stream.resume();
  await Promise.all(ended);
  assert.notEqual(stream.rstCode, undefined);
});
