import assert from "node:assert/strict";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { type IncomingHttpHeaders, request } from "node:http";
import { request as secureRequest } from "node:https";
import { test } from "node:test";
import { dray, startCluster } from "./harness.ts";

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

interface Place {
  readonly address: string;
  readonly port: number;
}

/** Documents that everybody may read. Upstream: role system:public-info-viewer */
const publicPaths = new Set(["/version", "/healthz", "/livez", "/readyz"]);
const paths = [...publicPaths, "/", "/metrics", "/pods", "/api/v1/secrets", "/debug/pprof/", "/json/list"];

/** Headers that a browser sends for a page of another site whose name leads to this machine. */
const page = { host: "evil.example", origin: "https://evil.example" };
const preflight = {
  ...page,
  "access-control-request-method": "POST",
  "access-control-request-headers": "content-type",
};
const webSocket = {
  ...page,
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};

test("a page of another site reads nothing and changes nothing at any port of a cluster", {
  skip: process.platform !== "linux" && "reads the system's table of sockets",
}, async () => {
  const cluster = await startCluster("--nodes", "1");
  try {
    const status = await dray(["status", "--data-dir", cluster.dataDir, "-o", "json"]);
    const { processes } = JSON.parse(status.stdout) as { processes: readonly { pid: number }[] };
    const places = listenersOf(processes.map(({ pid }) => pid));
    assert.ok(places.length >= 2, "the API server and the node listen");
    for (const place of places)
      for (const send of [request, secureRequest] as const) {
        const ask = (path: string, headers: Record<string, string>, method = "GET") =>
          answerOf(place, send, { path, headers, method });
        // Another protocol, or none with TLS.
        if ((await ask("/", page)) === undefined) continue;
        for (const path of paths) {
          const answer = await ask(path, page);
          if (answer === undefined) continue;
          const at = `${place.address}:${place.port}${path} answered ${answer.status}`;
          assertClosed(answer, at);
          const isOpen = publicPaths.has(path) && send === secureRequest && answer.status === 200;
          assert.ok(isOpen || (answer.status >= 400 && answer.status < 500), at);
        }
        const writes = [
          await ask("/api/v1/namespaces", preflight, "OPTIONS"),
          await ask("/api/v1/namespaces", page, "POST"),
          await ask("/api/v1/namespaces?watch=1", webSocket),
          await ask("/exec/default/a/b?command=id", webSocket),
        ];
        for (const answer of writes) {
          if (answer === undefined) continue;
          assertClosed(answer, `${place.address}:${place.port}`);
          assert.ok(answer.status >= 400 && answer.status < 500, String(answer.status));
        }
      }
  } finally {
    await cluster.down();
  }
});

/** Asserts that a browser gives nothing of the answer to the page, and remembers nothing. */
function assertClosed({ headers }: Answer, at: string): void {
  const names = Object.keys(headers).filter((name) => /^access-control-|^set-cookie$/.test(name));
  assert.deepEqual(names, [], at);
}

/** Resolves to undefined where the server does not speak HTTP, or not with TLS. */
function answerOf(
  { address, port }: Place,
  send: typeof request | typeof secureRequest,
  { path, headers, method }: { path: string; headers: Record<string, string>; method: string },
): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const options = { host: address, port, path, headers, method, agent: false, rejectUnauthorized: false };
    const sent = send(options, (response) => {
      response.destroy();
      resolve({ status: response.statusCode ?? 0, headers: response.headers });
    });
    sent.once("upgrade", ({ headers: received }, socket) => {
      socket.destroy();
      resolve({ status: 101, headers: received });
    });
    sent.once("error", () => resolve(undefined));
    // A DNS server waits for more.
    sent.setTimeout(2000, () => sent.destroy(new Error("nothing came")));
    sent.end();
  });
}

/** Returns the IPv4 addresses and ports on which processes listen for TCP connections. */
function listenersOf(pids: readonly number[]): Place[] {
  const sockets = new Set(
    pids.flatMap((pid) =>
      readdirSync(`/proc/${pid}/fd`).map((fd) => {
        try {
          return readlinkSync(`/proc/${pid}/fd/${fd}`);
        } catch {
          return "";
        }
      }),
    ),
  );
  const rows = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1, -1);
  return rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode] = row.trim().split(/\s+/);
    if (state !== "0A" || !sockets.has(`socket:[${inode}]`)) return [];
    const [address = "", port = ""] = local.split(":");
    const bytes = [6, 4, 2, 0].map((at) => Number.parseInt(address.slice(at, at + 2), 16));
    return [{ address: bytes.join("."), port: Number.parseInt(port, 16) }];
  });
}
