// Runs in a pod of `services.test.ts`: finds the endpoints of a Service in the API, connects to it by address
// and by name, and prints what it has found as JSON.
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { get as secureGet } from "node:https";

const { ACCOUNT, KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT, WEB_SERVICE_HOST, WEB_SERVICE_PORT } =
  process.env;

function read(getter, url, options = {}) {
  return new Promise((resolve, reject) => {
    getter(url, options, async (response) => {
      let text = "";
      for await (const chunk of response) text += chunk;
      resolve(text);
    }).once("error", reject);
  });
}

const slices = JSON.parse(
  await read(
    secureGet,
    `https://${KUBERNETES_SERVICE_HOST}:${KUBERNETES_SERVICE_PORT}/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name%3Dweb`,
    {
      ca: readFileSync(`${ACCOUNT}/ca.crt`),
      headers: { authorization: `Bearer ${readFileSync(`${ACCOUNT}/token`, "utf8")}` },
    },
  ),
);

const answer = (host, port) => read(get, `http://${host}:${port}/`).catch((error) => error.message);

/** Names come to the node by a watch: a moment after the endpoints are ready. */
async function answerOfName(host, port) {
  for (let tries = 0; ; tries++) {
    const text = await answer(host, port);
    if (!/ENOTFOUND|EAI_AGAIN/.test(text) || tries === 50) return text;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const byName = {};
for (const [host, port] of [
  ["web", WEB_SERVICE_PORT],
  ["web.default.svc.cluster.local", WEB_SERVICE_PORT],
  ["db-0.db", 5432],
  ["db-1.db.default.svc", 5432],
])
  byName[host] = await answerOfName(host, port);

process.stdout.write(
  JSON.stringify({
    endpoints: slices.items.flatMap(({ endpoints }) => endpoints.flatMap(({ addresses }) => addresses)),
    byAddress: await answer(WEB_SERVICE_HOST, WEB_SERVICE_PORT),
    hasNames:
      readFileSync("/etc/hosts", "utf8").includes("# Names of Services") ||
      readFileSync("/etc/resolv.conf", "utf8").includes("svc.cluster.local"),
    byName,
  }),
);
