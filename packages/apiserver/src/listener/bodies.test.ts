import assert from "node:assert/strict";
import { PassThrough, Writable } from "node:stream";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import { type ApiRequest, type ApiResponse, silentLog } from "@dray/client";
import { eventLoopTurns, fakeClock } from "@dray/testing/clock";
import type { Exchange, ResponseHeaders } from "../http/exchange.ts";
import { bodyResponse } from "../http/response.ts";
import { Service } from "./serve.ts";

const mebibyte = 2 ** 20;

/** A client that sends a body in parts, and its response. */
class Client {
  readonly body = new PassThrough({ highWaterMark: 8 * mebibyte });
  status = 0;
  headers: ResponseHeaders = {};
  text = "";
  isDisconnected = false;
  readonly exchange: Exchange;

  /** `declared`: the length in the header, if it has one. */
  constructor(declared?: number) {
    const answer = new Writable({ write: (_chunk, _encoding, done) => done() });
    const socket = { bytesRead: 0, getPeerCertificate: () => undefined } as unknown as TLSSocket;
    const headers = declared === undefined ? {} : { "content-length": String(declared) };
    const begin = (status: number, sent: ResponseHeaders): void => {
      this.status = status;
      this.headers = sent;
    };
    this.exchange = {
      ...{ method: "POST", url: "/", headers, socket, body: this.body, answer, hasBegun: false },
      ...{ begin, beginStream: begin, sendEmpty: begin, handOver() {} },
      discardBody: () => void this.body.resume(),
      abort: () => {
        this.isDisconnected = true;
        this.body.destroy();
        answer.destroy();
      },
      end: (bytes) => {
        this.text = String(bytes ?? "");
        answer.end();
      },
    };
  }

  send(bytes: number): this {
    this.body.write(Buffer.alloc(bytes, "x"));
    return this;
  }

  complete(bytes: number): void {
    this.body.end(Buffer.alloc(bytes, "x"));
  }
}

/** A server whose handler works until `finish` is called. */
function serving() {
  const clock = fakeClock();
  const pending: (() => void)[] = [];
  const sizes: number[] = [];
  const handler = {
    refusal: () => undefined,
    handle: ({ body }: ApiRequest): Promise<ApiResponse> => {
      sizes.push((body as Uint8Array).length);
      return new Promise((resolve) => {
        pending.push(() => resolve(bodyResponse(201, {}, () => "ok")));
      });
    },
  };
  const service = new Service({ handler, clock, log: silentLog, progressTimeout: 60_000 });
  const finish = async (): Promise<void> => {
    for (const done of pending.splice(0)) done();
    await eventLoopTurns();
  };
  const open = (declared?: number): Client => {
    const client = new Client(declared);
    service.serve(client.exchange);
    return client;
  };
  return { clock, sizes, finish, open };
}

test("large bodies above 16 MiB in all get 429; small ones never do", async () => {
  const { sizes, finish, open } = serving();
  const first = Array.from({ length: 5 }, () => open(3 * mebibyte));
  for (const client of first) client.complete(3 * mebibyte);
  await eventLoopTurns();
  assert.equal(sizes.length, 5);
  const [late, small, unknown] = [open(3 * mebibyte), open(1_000), open()];
  // It is rejected before all of it has come.
  late.send(mebibyte);
  small.complete(1_000);
  // Without a length it is small until it is known not to be.
  unknown.complete(60_000);
  await eventLoopTurns();
  assert.deepEqual(sizes.slice(5), [1_000, 60_000]);
  assert.deepEqual([late.status, late.headers["retry-after"]], [429, "1"]);
  assert.equal(JSON.parse(late.text).reason, "TooManyRequests");
  await finish();
  assert.deepEqual(
    [...first, small, unknown].map(({ status }) => status),
    Array(7).fill(201),
  );
  // All room is free again.
  const again = Array.from({ length: 5 }, () => open(3 * mebibyte));
  for (const client of again) client.complete(3 * mebibyte);
  await eventLoopTurns();
  assert.equal(sizes.length, 12);
  await finish();
});

test("a sender that is slow keeps its room only until others need it", async () => {
  const { clock, sizes, finish, open } = serving();
  const slow = Array.from({ length: 5 }, () => open(3 * mebibyte).send(mebibyte));
  await eventLoopTurns();
  clock.advance(10_000);
  assert.ok(slow.every(({ isDisconnected }) => !isDisconnected));
  const next = open(3 * mebibyte).send(mebibyte);
  await eventLoopTurns();
  assert.deepEqual([next.status, slow.every(({ isDisconnected }) => isDisconnected)], [429, true]);
  const retried = open(3 * mebibyte);
  retried.complete(3 * mebibyte);
  await eventLoopTurns();
  assert.deepEqual(sizes, [3 * mebibyte]);
  await finish();
  assert.equal(retried.status, 201);
});
