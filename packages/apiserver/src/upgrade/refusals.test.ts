import assert from "node:assert/strict";
import { test } from "node:test";
import { channels, pod, spdy, streams, webSocketHeaders } from "./testing.ts";

test("a kubelet's rejection reaches the client: unchanged, or on the error channel", async (t) => {
  const { upgrade, webSocket } = await streams(t, {
    refuse: ({ url }) =>
      url!.includes("nonsense")
        ? "nonsense\r\n\r\n"
        : url!.includes("elsewhere")
          ? "HTTP/1.1 302 Found\r\nLocation: https://elsewhere/\r\nContent-Length: 0\r\n\r\n"
          : url!.includes("odd")
            ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
            : "HTTP/1.1 404 Not Found\r\nX-Why: gone\r\nContent-Length: 9\r\n\r\nno such c",
  });
  const refused = await upgrade(`${pod}/exec?command=x&stdout=1`, spdy);
  assert.ok("text" in refused);
  assert.deepEqual(
    [refused.status, refused.text, refused.response.headers["x-why"]],
    [404, "no such c", "gone"],
  );
  const odd = await upgrade(`${pod}/exec?command=odd&stdout=1`, spdy);
  assert.ok("text" in odd);
  assert.deepEqual(
    [odd.status, JSON.parse(odd.text).message],
    [500, "invalid upgrade response: status code 200"],
  );
  const ws = webSocket(`${pod}/exec?command=x&stdout=1`, ["v5.channel.k8s.io"]);
  const { text, closed } = channels(ws);
  await closed;
  const status = JSON.parse(text[3]!);
  assert.equal(status.message, "Internal error occurred: unable to upgrade connection: no such c");
  assert.deepEqual([status.reason, status.code], ["InternalError", 500]);
  const causes: Record<string, string> = {
    elsewhere: 'error sending request: Post "https://elsewhere/": redirect not allowed',
    nonsense: 'malformed HTTP response "nonsense"',
  };
  for (const [command, cause] of Object.entries(causes)) {
    const other = channels(webSocket(`${pod}/exec?command=${command}&stdout=1`, ["v5.channel.k8s.io"]));
    await other.closed;
    assert.ok(JSON.parse(other.text[3]!).message.endsWith(cause), other.text[3]);
  }
  const tunnel = await upgrade(
    `${pod}/portforward`,
    { ...webSocketHeaders, "sec-websocket-protocol": "SPDY/3.1+portforward.k8s.io" },
    "GET",
  );
  assert.equal(tunnel.status, 404);
});

test("requests that cannot be upgraded get ordinary responses", async (t) => {
  const { upgrade, call, asked } = await streams(t, {});
  const without = await call("POST", `${pod}/exec?command=x`);
  assert.deepEqual([without.status, without.body.message], [400, "Upgrade request required"]);
  const unknown = await upgrade("/api/v1/namespaces/default/pods/q/exec?command=x", spdy);
  assert.ok("text" in unknown);
  assert.deepEqual([unknown.status, JSON.parse(unknown.text).reason], [404, "NotFound"]);
  // An Upgrade header is ignored on paths without upgrades.
  const list = await upgrade("/api/v1/pods", spdy, "GET");
  assert.equal(list.status, 200);
  // The right to read is not enough to connect, not even by GET.
  const reader = { ...spdy, "impersonate-user": "reader" };
  const rules = [{ apiGroups: [""], resources: ["pods/exec"], verbs: ["get"] }];
  await call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {
    body: { metadata: { name: "r" }, rules },
  });
  await call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    body: {
      metadata: { name: "r" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "r" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "reader" }],
    },
  });
  assert.equal((await upgrade(`${pod}/exec?command=x`, reader, "GET")).status, 403);
  const bad = await upgrade(
    `${pod}/exec?command=x&stdout=1`,
    { ...webSocketHeaders, "sec-websocket-key": "x", "sec-websocket-protocol": "v5.channel.k8s.io" },
    "GET",
  );
  assert.equal(bad.status, 400);
  assert.deepEqual(asked, []);
});

test("an unreachable kubelet has upstream's error", async (t) => {
  const { upgrade, webSocket, call } = await streams(t, {});
  await call("PATCH", "/api/v1/nodes/n1/status", {
    body: { status: { daemonEndpoints: { kubeletEndpoint: { Port: 1 } } } },
  });
  const answer = await upgrade(`${pod}/attach?stdout=1`, spdy);
  assert.ok("text" in answer);
  const refused = "error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused";
  assert.deepEqual([answer.status, JSON.parse(answer.text).message], [500, refused]);
  const ws = webSocket(`${pod}/attach?stdout=1`, ["v5.channel.k8s.io"]);
  const { text, closed } = channels(ws);
  await closed;
  assert.equal(
    JSON.parse(text[3]!).message,
    'Internal error occurred: error sending request: Post "https://127.0.0.1:1/attach/default/p/c?output=1": ' +
      "dial tcp 127.0.0.1:1: connect: connection refused",
  );
});

test("proxies reject connections to this machine's own addresses, like requests", async (t) => {
  const { upgrade, asked } = await streams(t, {});
  const answer = await upgrade("/api/v1/nodes/n1/proxy/exec/default/p/c?command=x&output=1", spdy);
  assert.ok("text" in answer);
  assert.deepEqual([answer.status, JSON.parse(answer.text).message], [400, "address not allowed"]);
  assert.deepEqual(asked, []);
});
