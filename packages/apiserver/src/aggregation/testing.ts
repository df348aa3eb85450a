/** For tests: an API server with flunders in wardle.example.com/v1alpha1, and a server in front of it. */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { TestContext } from "node:test";
import type { TLSSocket } from "node:tls";
import { eventually } from "@dray/testing/eventually";
import { type Certificate, createAuthority, issueCertificate } from "../certificates/pki.ts";
import { type TestServer, testServer } from "../testing/server.ts";

const now = Date.now();
const authority = await createAuthority("back-end", now);
const proxyAuthority = await createAuthority("front-proxy", now);
const proxyClient = await issueCertificate(
  proxyAuthority,
  { commonName: "front-proxy-client", usages: ["client"] },
  now,
);
const serving = await issueCertificate(
  authority,
  { commonName: "back-end", dnsNames: ["flunders.wardle.svc"], usages: ["server"] },
  now,
);

export const group = "wardle.example.com";
export const versionPath = `/apis/${group}/v1alpha1`;

/** A request that a back end has received. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headersDistinct"];
  /** Common name of the client's certificate; empty if none was verified. */
  readonly client: string;
  readonly body: string;
}

export type Reply = (received: ReceivedRequest, response: ServerResponse) => void;

const json =
  (body: object, headers: Record<string, string> = {}, status = 200): Reply =>
  (_, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };

const discovered = {
  resource: "flunders",
  responseKind: { group, version: "v1alpha1", kind: "Flunder" },
  scope: "Namespaced",
  singularResource: "flunder",
  verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
  shortNames: ["fl"],
};

/** Responds to `/apis` with all groups at once (apidiscovery.k8s.io/v2). */
export const aggregatedDiscovery: Reply = (received, response) => {
  if (received.headers["if-none-match"]?.[0] === '"d1"') {
    response.writeHead(304).end();
    return;
  }
  const type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const version = { version: "v1alpha1", resources: [discovered], freshness: "Current" };
  const items = [{ metadata: { name: group }, versions: [version] }];
  json({ kind: "APIGroupDiscoveryList", items }, { "content-type": type, etag: '"d1"' })(received, response);
};

const resourceList: Reply = json({
  kind: "APIResourceList",
  groupVersion: `${group}/v1alpha1`,
  resources: [
    {
      name: "flunders",
      singularName: "flunder",
      namespaced: true,
      kind: "Flunder",
      verbs: ["get", "list"],
      shortNames: ["fl"],
    },
    { name: "flunders/status", singularName: "", namespaced: true, kind: "Flunder", verbs: ["get"] },
  ],
});

const swagger = {
  swagger: "2.0",
  paths: {
    "/apis/": { get: { responses: { "200": { description: "OK" } } } },
    [`${versionPath}/flunders`]: {
      get: {
        produces: ["application/json"],
        parameters: [{ $ref: "#/parameters/limit" }],
        responses: { "200": { description: "OK", schema: { $ref: "#/definitions/example.Flunder" } } },
      },
      post: {
        parameters: [{ name: "body", in: "body", schema: { $ref: "#/definitions/example.Flunder" } }],
        responses: { "201": { description: "Created" } },
      },
    },
  },
  parameters: { limit: { name: "limit", in: "query", type: "integer", uniqueItems: true } },
  definitions: {
    "example.Flunder": {
      type: "object",
      properties: {
        metadata: { $ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" },
        own: { $ref: "#/definitions/io.k8s.api.core.v1.LocalObjectReference" },
      },
    },
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": { type: "object", properties: { other: {} } },
    "io.k8s.api.core.v1.LocalObjectReference": {
      type: "object",
      properties: { name: { type: "string" } },
      "x-kubernetes-map-type": "atomic",
    },
    "example.Unused": { type: "object" },
  },
};

/** An HTTPS server. `replies` is keyed by `PATH`, without the query. */
export class BackEnd {
  readonly received: ReceivedRequest[] = [];
  readonly replies = new Map<string, Reply>([
    [versionPath, resourceList],
    ["/openapi/v2", json(swagger)],
    [
      "/openapi/v3",
      json({
        paths: {
          [versionPath.slice(1)]: { serverRelativeURL: `/openapi/v3${versionPath}?hash=1` },
          version: { serverRelativeURL: "/openapi/v3/version?hash=2" },
        },
      }),
    ],
    [`/openapi/v3${versionPath}`, json({ openapi: "3.0.0", paths: {} })],
  ]);
  readonly #sockets = new Set<Duplex>();
  #server: Server | undefined;
  onUpgrade: ((received: ReceivedRequest, socket: Duplex) => void) | undefined;

  /** Listens, on its earlier port if it had one. */
  async start(port = 0): Promise<void> {
    const options = {
      cert: serving.certificate,
      key: serving.key,
      ca: proxyAuthority.certificate,
      requestCert: true,
      rejectUnauthorized: false,
    };
    this.#server = createServer(options, (request, response) => this.#answer(request, response));
    this.#server.on("connection", (socket: Duplex) => this.#sockets.add(socket));
    this.#server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
      this.#sockets.add(socket);
      this.onUpgrade?.(receivedRequest(request, ""), socket);
    });
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get port(): number {
    return (this.#server!.address() as AddressInfo).port;
  }

  /** Ends all connections. */
  async stop(): Promise<void> {
    const closed = once(this.#server!, "close");
    this.#server!.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks = await request.toArray();
    const received = receivedRequest(request, Buffer.concat(chunks).toString());
    this.received.push(received);
    const reply = this.replies.get(received.url.split("?")[0]!);
    if (reply) reply(received, response);
    else response.writeHead(404, { "content-type": "text/plain" }).end("404 page not found\n");
  }
}

function receivedRequest(request: IncomingMessage, body: string): ReceivedRequest {
  const socket = request.socket as TLSSocket;
  const client = socket.authorized ? [socket.getPeerCertificate().subject?.CN ?? ""].flat()[0]! : "";
  const { method = "", url = "", headersDistinct: headers } = request;
  return { method, url, headers, client, body };
}

export interface Aggregated extends TestServer {
  readonly backEnd: BackEnd;
  /** Waits until the condition Available has this reason, and returns the condition. */
  condition(reason: string): Promise<{ status: string; message: string }>;
}

export const apiService = {
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name: `v1alpha1.${group}` },
  spec: {
    group,
    version: "v1alpha1",
    service: { namespace: "wardle", name: "flunders", port: 7443 },
    caBundle: Buffer.from(authority.certificate).toString("base64"),
    groupPriorityMinimum: 2000,
    versionPriority: 200,
  },
};
export const servicesPath = "/apis/apiregistration.k8s.io/v1/apiservices";

export interface AggregatedOptions {
  readonly proxyClient?: Certificate;
  /** Changes the replies before the first request of the server. */
  readonly prepare?: (backEnd: BackEnd) => void;
}

/** Starts a server in front of a back end whose pod is ready. */
export async function aggregated(t: TestContext, options: AggregatedOptions = {}): Promise<Aggregated> {
  const backEnd = new BackEnd();
  options.prepare?.(backEnd);
  await backEnd.start();
  const tested = await testServer({
    proxyClient: options.proxyClient ?? proxyClient,
    disabledAdmissionPlugins: ["ServiceAccount"],
  });
  t.after(async () => {
    await tested.server.close();
    await backEnd.stop().catch(() => {});
  });
  await prepareService(tested, backEnd.port);
  await tested.call("POST", servicesPath, { body: apiService });
  return {
    ...tested,
    backEnd,
    async condition(reason) {
      const url = `${servicesPath}/${apiService.metadata.name}`;
      let last: { status: string; reason: string; message: string } | undefined;
      return await eventually(
        () => `the reason ${reason} of the condition; it is ${JSON.stringify(last)}`,
        async () => {
          last = (await tested.call("GET", url)).body.status.conditions?.[0];
          return last?.reason === reason && last;
        },
      );
    },
  };
}

/** Creates a Service whose only pod is ready on this machine: its address fits into no EndpointSlice. */
async function prepareService({ call, namespace }: TestServer, port: number): Promise<void> {
  await namespace("wardle");
  const labels = { app: "flunders" };
  await call("POST", "/api/v1/namespaces/wardle/services", {
    body: {
      metadata: { name: "flunders" },
      spec: { selector: labels, ports: [{ port: 7443, targetPort: port }] },
    },
  });
  await call("POST", "/api/v1/namespaces/wardle/pods", {
    body: { metadata: { name: "p", labels }, spec: { containers: [{ name: "c", image: "i" }] } },
  });
  await call("PATCH", "/api/v1/namespaces/wardle/pods/p/status", {
    body: {
      status: {
        phase: "Running",
        podIP: "127.0.0.1",
        podIPs: [{ ip: "127.0.0.1" }],
        conditions: [{ type: "Ready", status: "True" }],
      },
    },
  });
}
