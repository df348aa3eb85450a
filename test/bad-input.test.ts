import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parse } from "yaml";
import { drayArguments } from "./harness.ts";

/** `dray apiserver` alone, asked over HTTPS: what is wrong gets its Status and changes nothing. */

interface Answer {
  readonly code: number;
  readonly body: {
    readonly kind?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly details?: {
      readonly causes?: readonly {
        readonly reason: string;
        readonly message: string;
        readonly field: string;
      }[];
    };
    readonly [field: string]: unknown;
  };
}

let folder: string;
let server: ChildProcess;
let kubeconfig: {
  clusters: [{ cluster: { server: string; "certificate-authority-data": string } }];
  users: [{ user: { "client-certificate-data": string; "client-key-data": string } }];
};

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "dray-bad-"));
  server = spawn(process.execPath, [...drayArguments, "apiserver", "--data-dir", folder, "--port", "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise<void>((resolve, reject) => {
    server.stdout?.on("data", (chunk: Buffer) => chunk.includes("ready") && resolve());
    server.once("exit", (code) => reject(new Error(`dray apiserver ended with ${code}`)));
  });
  kubeconfig = parse(readFileSync(join(folder, "kubeconfig"), "utf8"));
});

after(async () => {
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill("SIGTERM");
  await ended;
  rmSync(folder, { recursive: true, force: true });
});

type Credentials = "admin" | "none" | { readonly token: string };

async function call(
  method: string,
  path: string,
  body?: string | Buffer | object,
  { as = "admin" as Credentials, type = "application/json" } = {},
): Promise<Answer> {
  const decode = (text: string): Buffer => Buffer.from(text, "base64");
  const { cluster } = kubeconfig.clusters[0];
  const { user } = kubeconfig.users[0];
  const payload =
    body === undefined || typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, cluster.server),
      {
        method,
        ca: decode(cluster["certificate-authority-data"]),
        headers: {
          ...(payload === undefined ? {} : { "content-type": type }),
          ...(typeof as === "object" ? { authorization: `Bearer ${as.token}` } : {}),
        },
        ...(as === "admin"
          ? { cert: decode(user["client-certificate-data"]), key: decode(user["client-key-data"]) }
          : {}),
        agent: false,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          try {
            resolve({ code: response.statusCode ?? 0, body: JSON.parse(text) });
          } catch {
            reject(new Error(`no JSON in the answer ${response.statusCode}: ${text.slice(0, 200)}`));
          }
        });
      },
    );
    sent.on("error", reject);
    sent.end(payload);
  });
}

const claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

function claim(name: string, expression = "true", extra: object = {}): object {
  const exactly = { deviceClassName: "c", selectors: [{ cel: { expression } }], ...extra };
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name },
    spec: { devices: { requests: [{ name: "r", exactly }] } },
  };
}

/** The collection is as it was: same resourceVersion of every object. */
async function unchanged(path: string, body: () => Promise<void>): Promise<void> {
  const state = async (): Promise<unknown> => {
    const { body } = await call("GET", path);
    return (body["items"] as { metadata: { name: string; resourceVersion: string } }[]).map(
      ({ metadata }) => [metadata.name, metadata.resourceVersion],
    );
  };
  const before = await state();
  await body();
  assert.deepEqual(await state(), before);
}

function isStatus(answer: Answer, code: number, reason: string, message: RegExp): void {
  assert.equal(answer.body.kind, "Status", JSON.stringify(answer.body));
  assert.deepEqual(
    [answer.code, answer.body["code"], answer.body.reason],
    [code, code, reason],
    answer.body.message,
  );
  assert.match(answer.body.message ?? "", message);
}

test("malformed JSON and YAML are 400 BadRequest", async () => {
  await unchanged(claims, async () => {
    isStatus(await call("POST", claims, '{"kind": "ResourceClaim",'), 400, "BadRequest", /./);
    isStatus(
      await call("POST", claims, "kind: [unclosed\n  metadata: {", { type: "application/yaml" }),
      400,
      "BadRequest",
      /./,
    );
    isStatus(
      await call("POST", claims, Buffer.from([0x6b, 0x38, 0x73, 0, 0xff, 0xff]), {
        type: "application/vnd.kubernetes.protobuf",
      }),
      400,
      "BadRequest",
      /./,
    );
  });
});

test("an unknown field is refused by strict validation with its path", async () => {
  const body = claim("unknown", "true", { nosuch: 1 });
  await unchanged(claims, async () => {
    const answer = await call("POST", `${claims}?fieldValidation=Strict`, body);
    isStatus(
      answer,
      400,
      "BadRequest",
      /strict decoding error: unknown field "spec\.devices\.requests\[0\]\.exactly\.nosuch"/,
    );
  });
});

test("a selector that does not compile is 422 Invalid at its field", async () => {
  await unchanged(claims, async () => {
    const answer = await call("POST", claims, claim("bad-cel", "device.nosuch == 1"));
    isStatus(
      answer,
      422,
      "Invalid",
      /^ResourceClaim\.resource\.k8s\.io "bad-cel" is invalid: spec\.devices\.requests\[0\]\.exactly\.selectors\[0\]\.cel\.expression: Invalid value: /,
    );
    assert.equal(
      answer.body.details?.causes?.[0]?.field,
      "spec.devices.requests[0].exactly.selectors[0].cel.expression",
    );
    assert.match(answer.body.details?.causes?.[0]?.message ?? "", /undefined field 'nosuch'/);
  });
});

test("a request without a class is 422 with Required", async () => {
  const answer = await call("POST", claims, claim("no-class", "true", { deviceClassName: "" }));
  isStatus(answer, 422, "Invalid", /deviceClassName: Required value/);
  assert.equal(answer.body.details?.causes?.[0]?.reason, "FieldValueRequired");
});

test("a body of 10 MiB is 413", async () => {
  await unchanged("/api/v1/namespaces/default/configmaps", async () => {
    const body = { metadata: { name: "big" }, data: { fill: "x".repeat(10 * 1024 * 1024) } };
    const answer = await call("POST", "/api/v1/namespaces/default/configmaps", body);
    isStatus(answer, 413, "RequestEntityTooLarge", /limit is 3145728/);
  });
});

test("without credentials a request is anonymous, and forbidden", async () => {
  await unchanged(claims, async () => {
    const answer = await call("POST", claims, claim("nobody"), { as: "none" });
    isStatus(
      answer,
      403,
      "Forbidden",
      /User "system:anonymous" cannot create resource "resourceclaims" in API group "resource\.k8s\.io" in the namespace "default"/,
    );
  });
  isStatus(
    await call("GET", claims, undefined, { as: { token: "wrong" } }),
    401,
    "Unauthorized",
    /Unauthorized/,
  );
});

test("a service account without permission is forbidden by name", async () => {
  const account = { metadata: { name: "poor" } };
  assert.equal((await call("POST", "/api/v1/namespaces/default/serviceaccounts", account)).code, 201);
  const path = "/api/v1/namespaces/default/serviceaccounts/poor/token";
  const made = await call("POST", path, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: {},
  });
  const { token } = made.body["status"] as { token: string };
  await unchanged(claims, async () => {
    const answer = await call("POST", claims, claim("poor"), { as: { token } });
    isStatus(
      answer,
      403,
      "Forbidden",
      /^resourceclaims\.resource\.k8s\.io is forbidden: User "system:serviceaccount:default:poor" cannot create resource "resourceclaims"/,
    );
  });
});

test("a missing object is 404, and a conflict of versions or names is 409", async () => {
  isStatus(
    await call("GET", `${claims}/nosuch`),
    404,
    "NotFound",
    /^resourceclaims\.resource\.k8s\.io "nosuch" not found$/,
  );
  const made = await call("POST", claims, claim("twice"));
  assert.equal(made.code, 201);
  isStatus(await call("POST", claims, claim("twice")), 409, "AlreadyExists", /already exists/);
  const labelled = { ...made.body, metadata: { ...(made.body["metadata"] as object), labels: { a: "b" } } };
  assert.equal((await call("PUT", `${claims}/twice`, labelled)).code, 200);
  isStatus(
    await call("PUT", `${claims}/twice`, {
      ...labelled,
      metadata: { ...labelled.metadata, labels: { a: "c" } },
    }),
    409,
    "Conflict",
    /the object has been modified/,
  );
});
