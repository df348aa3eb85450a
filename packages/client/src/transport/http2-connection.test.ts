import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { type ApiResponse, type Clock, ConnectionError, httpsTransport, type Transport } from "@dray/client";
import { eventLoopTurns } from "@dray/testing/clock";
import { realTime } from "@dray/testing/eventually";

const pair = {
  cert: readFileSync(new URL("testdata/localhost.crt.pem", import.meta.url), "utf8"),
  key: readFileSync(new URL("testdata/localhost.key.pem", import.meta.url), "utf8"),
};

type Serve = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

interface Peer {
  readonly server: Http2SecureServer;
  readonly sessions: ServerHttp2Session[];
  readonly transport: Transport;
  send(method?: string, body?: object): Promise<ApiResponse>;
}

/** A server of HTTP/2 streams, and a transport to it. */
async function peer(t: TestContext, serve: Serve, clock?: Clock): Promise<Peer> {
  const server = createSecureServer(pair);
  const sessions: ServerHttp2Session[] = [];
  server.on("session", (session) => sessions.push(session));
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {});
    serve(stream, headers);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const transport = httpsTransport({
    server: `https://127.0.0.1:${port}`,
    ca: pair.cert,
    ...(clock === undefined ? {} : { clock }),
  });
  t.after(() => {
    transport.close();
    for (const session of sessions) session.destroy();
    server.close();
  });
  const { signal } = new AbortController();
  return {
    server,
    sessions,
    transport,
    send: (method = "GET", body) =>
      transport.request({ method, url: "/x", headers: {}, ...(body === undefined ? {} : { body }), signal }),
  };
}

const bytesOf = async (response: ApiResponse): Promise<number> => {
  assert.equal(response.type, "bytes");
  let size = 0;
  if (response.type === "bytes") for await (const chunk of response.chunks) size += chunk.length;
  return size;
};

const answer = (stream: ServerHttp2Stream, length: number, headers = {}): void => {
  stream.respond({ ":status": 200, "content-type": "text/plain", ...headers });
  stream.end("x".repeat(length));
};

test("a body that has arrived before it is read is complete", async (t) => {
  let ended = Promise.withResolvers<void>();
  const { send } = await peer(t, (stream) => {
    stream.once("close", () => ended.resolve());
    answer(stream, 3000);
  });
  for (const [method, body] of [["GET"], ["POST", { a: 1 }]] as const) {
    ended = Promise.withResolvers();
    const response = await send(method, body);
    await ended.promise;
    await eventLoopTurns(20);
    assert.equal(await bytesOf(response), 3000);
  }
});

test("thousands of requests on one connection, many of them cancelled, all get their response", async (t) => {
  const { sessions, send, transport } = await peer(t, (stream) => {
    stream.resume();
    stream.once("end", () => {
      if (!stream.destroyed) {
        stream.respond({ ":status": 200, "content-type": "application/json" });
        stream.end(JSON.stringify({ text: "x".repeat(2000) }));
      }
    });
  });
  let sent = 0;
  const one = async (): Promise<void> => {
    for (;;) {
      const number = sent++;
      if (number >= 3000) return;
      if (number % 10 > 0) {
        const response = await send(
          number % 2 === 0 ? "GET" : "POST",
          number % 2 === 0 ? undefined : { a: "b" },
        );
        assert.equal(response.type, "body");
      } else {
        const gone = new AbortController();
        const request = transport.request({ method: "GET", url: "/x", headers: {}, signal: gone.signal });
        gone.abort();
        await assert.rejects(request, ConnectionError);
      }
    }
  };
  await Promise.all(Array.from({ length: 200 }, one));
  assert.equal(sessions.length, 1);
});

test("a request that the server has not processed is retried, a write too; any other is not", async (t) => {
  for (const [code, times, lost] of [
    [constants.NGHTTP2_REFUSED_STREAM, 2, false],
    [constants.NGHTTP2_INTERNAL_ERROR, 1, true],
    [constants.NGHTTP2_CANCEL, 1, true],
  ] as const) {
    let asked = 0;
    const { send } = await peer(t, (stream) => {
      asked++;
      if (asked === 1) stream.close(code);
      else answer(stream, 1);
    });
    const response = send("POST", { a: 1 });
    if (lost) await assert.rejects(response, (error) => error instanceof ConnectionError && error.lost);
    else assert.equal((await response).status, 200);
    assert.equal(asked, times, `code ${code}`);
  }
});

test("after GOAWAY, requests that are not processed are sent over another connection", async (t) => {
  const begun: string[] = [];
  const { sessions, send } = await peer(t, (stream, headers) => {
    const { session } = stream;
    begun.push(`${sessions.indexOf(session as ServerHttp2Session)} ${headers[":method"]}`);
    if (session === sessions[0] && headers[":method"] === "POST") {
      // As a server that has read its header after it had decided to go: streams above 1 are not looked at.
      (session as ServerHttp2Session).goaway(constants.NGHTTP2_NO_ERROR, 1);
    } else answer(stream, 1, { "content-length": "1" });
  });
  await send("GET");
  assert.equal((await send("POST", { a: 1 })).status, 200);
  assert.deepEqual(begun, ["0 GET", "0 POST", "1 POST"]);
});

test("a request that is refused repeatedly fails after six retries with growing delays", async (t) => {
  const delays: number[] = [];
  const clock: Clock = {
    now: () => 0,
    after(milliseconds, run) {
      // The others are pings and the limit of connecting.
      if (milliseconds >= 10_000 && milliseconds <= 30_000 && milliseconds !== 16_000) return () => {};
      delays.push(milliseconds);
      setImmediate(run);
      return () => {};
    },
  };
  let asked = 0;
  const { send } = await peer(
    t,
    (stream) => {
      asked++;
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
    },
    clock,
  );
  await assert.rejects(send("POST", { a: 1 }), (error) => error instanceof ConnectionError && error.lost);
  assert.equal(asked, 7);
  assert.deepEqual(delays, [1000, 2000, 4000, 8000, 16000]);
});

test("the failure of one request does not affect another", async (t) => {
  let asked = 0;
  const { send } = await peer(t, (stream) => {
    asked++;
    stream.close(asked === 1 ? constants.NGHTTP2_INTERNAL_ERROR : constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
  await assert.rejects(send(), /INTERNAL_ERROR/);
  await assert.rejects(send(), /ENHANCE_YOUR_CALM/);
});

test("a response that is reset is an error, with and without a content-length", async (t) => {
  for (const headers of [{}, { "content-length": "2" }]) {
    let reset = (): void => {};
    const { send } = await peer(t, (stream) => {
      stream.respond({ ":status": 200, "content-type": "text/plain", ...headers });
      stream.write("x");
      reset = () => stream.destroy(new Error("broken"));
    });
    const response = await send();
    reset();
    await assert.rejects(bytesOf(response), /lost the connection during GET \/x: .*INTERNAL_ERROR/);
  }
});

test("an unread response pauses the server instead of filling the memory", async (t) => {
  let written = 0;
  const { send } = await peer(t, (stream) => {
    stream.respond({ ":status": 200, "content-type": "text/plain" });
    const more = (): void => {
      while (!stream.destroyed && written < 64 << 20) {
        written += 1 << 16;
        if (!stream.write(Buffer.alloc(1 << 16))) return void stream.once("drain", more);
      }
      stream.end();
    };
    more();
  });
  const response = await send();
  assert.equal(response.type, "bytes");
  for (let last = -1; last !== written; ) {
    last = written;
    await realTime(200, "nothing says that the server has stopped writing");
  }
  assert.ok(written < 8 << 20, `${written} bytes were taken`);
  assert.equal(await bytesOf(response), 64 << 20);
});
