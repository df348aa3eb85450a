import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";
import { systemClock } from "@dray/client";
import type { Listener } from "../index.ts";
import { adminToken, type TestServer, testServer } from "../testing/server.ts";
import { testServing } from "../testing/serving.ts";

const resourcePath = "/openapi/v3/apis/resource.k8s.io/v1";
const claimPath = "/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}";

test("the index contains the path and the hash of every document", async () => {
  const { call, server } = await testServer();
  const index = JSON.parse((await call("GET", "/openapi/v3")).body);
  const groups = await call("GET", "/apis");
  const served = groups.body.groups.flatMap(
    (group: { name: string; versions: { groupVersion: string }[] }) => [
      `apis/${group.name}`,
      ...group.versions.map(({ groupVersion }) => `apis/${groupVersion}`),
    ],
  );
  const fixed = ["api", "api/v1", "apis", "version", "openid/v1/jwks", ".well-known/openid-configuration"];
  assert.deepEqual(Object.keys(index.paths).sort(), [...fixed, ...served].sort());
  const url: string = index.paths["apis/resource.k8s.io/v1"].serverRelativeURL;
  const document = await call("GET", url);
  assert.equal(document.status, 200);
  assert.equal(document.headers["content-type"], "application/json");
  assert.match(String(document.headers["cache-control"]), /^public/);
  assert.equal(document.headers["etag"], `"${url.split("hash=")[1]}"`);
  const again = await call("GET", resourcePath, {
    headers: { "if-none-match": String(document.headers["etag"]) },
  });
  assert.equal(again.status, 304);
  const stale = await call("GET", `${resourcePath}?hash=OLD`);
  assert.equal(stale.status, 301);
  assert.equal(stale.headers["location"], url);
  await server.close();
});

test("the index changes as soon as a definition is created", async () => {
  // All changes within one second: the time of the last change does not distinguish them.
  const { call, server } = await testServer({ clock: { ...systemClock, now: () => 1_800_000_000_000 } });
  const { headers } = await call("GET", "/openapi/v3");
  const known = {
    "if-none-match": String(headers["etag"]),
    "if-modified-since": String(headers["last-modified"]),
  };
  assert.equal((await call("GET", "/openapi/v3", { headers: known })).status, 304);
  const body = {
    metadata: { name: "foos.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "foos", kind: "Foo" },
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
      ],
    },
  };
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  assert.equal((await call("POST", definitions, { body })).status, 201);
  while ((await call("GET", "/apis/example.com/v1/foos")).status !== 200)
    await new Promise((resolve) => setImmediate(resolve));
  const again = await call("GET", "/openapi/v3", { headers: known });
  assert.equal(again.status, 200);
  assert.match(again.body, /apis\/example\.com\/v1/);
  await server.close();
});

test("a request for protobuf gets JSON if that is accepted too, otherwise 406; unknown paths are 404", async () => {
  const { call, server } = await testServer();
  const binary = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";
  assert.equal((await call("GET", resourcePath, { headers: { accept: binary } })).status, 406);
  const both = await call("GET", resourcePath, { headers: { accept: `${binary}, application/json` } });
  assert.equal(both.body.openapi, "3.0.0");
  assert.equal((await call("GET", "/openapi/v3/apis/nosuch.example.com/v1")).status, 404);
  const anonymous = { user: "system:anonymous", groups: ["system:unauthenticated"] };
  const reader = { user: "ann", groups: ["system:authenticated"] };
  assert.equal((await call("GET", "/openapi/v3", reader)).status, 200);
  assert.equal((await call("GET", "/openapi/v3", anonymous)).status, 403);
  await server.close();
});

test("every verb in discovery has an operation, and every reference a schema", async () => {
  const { call, server } = await testServer({ runtimeConfig: { "api/all": true } });
  const index = JSON.parse((await call("GET", "/openapi/v3")).body);
  for (const path of Object.keys(index.paths)) {
    const { body } = await call("GET", `/openapi/v3/${path}`);
    const text = JSON.stringify(body);
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      assert.ok(body.components.schemas[name!], `${path} refers to ${name}`);
    }
    const { resources = [] } = (await call("GET", `/${path}`)).body;
    const has = (key: string, action: string): boolean =>
      Object.values<{ "x-kubernetes-action"?: string }>(body.paths[key] ?? {}).some(
        (operation) => operation["x-kubernetes-action"] === action,
      );
    for (const { name, kind, namespaced, verbs } of resources) {
      const [resource, subresource] = name.split("/");
      const collection = `/${path}${namespaced ? "/namespaces/{namespace}" : ""}/${resource}`;
      const item = `${collection}/{name}`;
      const where = subresource === undefined ? item : `${item}/${subresource}`;
      for (const verb of verbs) {
        const whole = subresource === undefined && ["create", "list", "deletecollection"].includes(verb);
        const connects = kind.endsWith("Options");
        const action = connects ? "connect" : ({ create: "post", update: "put" }[verb as string] ?? verb);
        const key =
          verb === "watch" ? item.replace(`/${path}/`, `/${path}/watch/`) : whole ? collection : where;
        assert.ok(has(key, action), `${path}: ${name} ${verb}`);
      }
    }
    const ids = [...text.matchAll(/"operationId":"([^"]+)"/g)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length, `${path} has an operation id twice`);
  }
  await server.close();
});

test("schemas list the values of enums, and what upstream marks as required", async () => {
  const { call, server } = await testServer({ kubernetesVersion: "1.37" });
  const { schemas } = (await call("GET", "/openapi/v3/apis/apps/v1")).body.components;
  const core = (name: string) => schemas[`io.k8s.api.core.v1.${name}`];
  assert.deepEqual(core("Container").properties.imagePullPolicy.enum, ["Always", "IfNotPresent", "Never"]);
  assert.deepEqual(core("Toleration").properties.operator.enum, ["Equal", "Exists", "Gt", "Lt"]);
  assert.deepEqual(core("PersistentVolumeClaimSpec").properties.accessModes.items.enum, [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
  ]);
  // Marked as required, though it may be left out of JSON.
  assert.deepEqual(core("ContainerRestartRule").required, ["action"]);
  assert.deepEqual(schemas["io.k8s.api.apps.v1.Deployment"].required, ["spec"]);
  assert.equal(enumsBelow(schemas, "io.k8s.api.apps.v1.Deployment"), 86);
  const { definitions } = (await call("GET", "/openapi/v2")).body;
  assert.deepEqual(definitions["io.k8s.api.core.v1.Container"].properties.imagePullPolicy.enum, [
    "Always",
    "IfNotPresent",
    "Never",
  ]);
  await server.close();
  const older = await testServer({ kubernetesVersion: "1.34" });
  const before = (await older.call("GET", "/openapi/v3/apis/apps/v1")).body.components.schemas;
  assert.deepEqual(before["io.k8s.api.core.v1.Toleration"].properties.operator.enum, ["Equal", "Exists"]);
  assert.equal(before["io.k8s.api.apps.v1.Deployment"].required, undefined);
  await older.server.close();
});

/** Counts the enums of a schema, and of all that it refers to at each place again. */
function enumsBelow(schemas: Readonly<Record<string, object>>, name: string): number {
  const text = JSON.stringify(schemas[name]);
  const own = text.match(/"enum":\[/g)?.length ?? 0;
  const below = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)];
  return below.reduce((sum, [, each]) => sum + enumsBelow(schemas, each!), own);
}

test("schemas contain merge strategies and required fields, and only fields of the release", async () => {
  const { call, server } = await testServer({ kubernetesVersion: "1.36" });
  const { components, paths } = (await call("GET", resourcePath)).body;
  const { properties } = components.schemas["io.k8s.api.resource.v1.ResourceClaimStatus"];
  assert.deepEqual(
    { ...properties.reservedFor, description: undefined },
    {
      description: undefined,
      type: "array",
      items: {
        allOf: [{ $ref: "#/components/schemas/io.k8s.api.resource.v1.ResourceClaimConsumerReference" }],
        default: {},
      },
      "x-kubernetes-list-map-keys": ["uid"],
      "x-kubernetes-list-type": "map",
      "x-kubernetes-patch-merge-key": "uid",
      "x-kubernetes-patch-strategy": "merge",
    },
  );
  assert.deepEqual(components.schemas["io.k8s.api.resource.v1.DeviceRequest"].required, ["name"]);
  const selector = components.schemas["io.k8s.api.core.v1.NodeSelector"];
  assert.equal(selector["x-kubernetes-map-type"], "atomic");
  const slice = components.schemas["io.k8s.api.resource.v1.ResourceSliceSpec"].properties;
  assert.equal(slice.skipNodeOperations, undefined);
  const list = components.schemas["io.k8s.api.resource.v1.ResourceClaimList"];
  assert.deepEqual(list["x-kubernetes-group-version-kind"], [
    { group: "resource.k8s.io", kind: "ResourceClaimList", version: "v1" },
  ]);
  const { patch } = paths[claimPath];
  assert.deepEqual(
    patch.parameters.map(({ name }: { name: string }) => name),
    ["dryRun", "fieldManager", "fieldValidation", "force"],
  );
  assert.deepEqual(patch["x-kubernetes-group-version-kind"], {
    group: "resource.k8s.io",
    kind: "ResourceClaim",
    version: "v1",
  });
  await server.close();
});

test("every type and field of resource.k8s.io/v1 is described", async () => {
  const { call, server } = await testServer();
  const { schemas } = (await call("GET", resourcePath)).body.components;
  for (const [name, schema] of Object.entries<{
    description?: string;
    properties?: Record<string, { description?: string }>;
  }>(schemas)) {
    if (!name.startsWith("io.k8s.api.resource.v1.")) continue;
    assert.ok(schema.description, name);
    for (const [field, property] of Object.entries(schema.properties ?? {})) {
      assert.ok(property.description, `${name} ${field}`);
    }
  }
  await server.close();
});

const run = promisify(execFile);

async function kubectlReason(): Promise<string | false> {
  try {
    const { stdout } = await run("kubectl", ["version", "--client", "-o", "json"]);
    const { minor } = JSON.parse(stdout).clientVersion as { minor: string };
    if (Number.parseInt(minor, 10) >= 27) return false;
  } catch {
    // Missing or without a version: the reason is the same.
  }
  return "kubectl 1.27 or later is not on PATH";
}

const bars = {
  description: "List of Bars.",
  type: "array",
  items: {
    type: "object",
    required: ["name"],
    properties: {
      name: { description: "Name of Bar.", type: "string" },
      bazs: { description: "List of Bazs.", type: "array", items: { type: "string" } },
    },
  },
};
const spec = { description: "Specification of Foo.", type: "object", properties: { bars } };
const preserve = { "x-kubernetes-preserve-unknown-fields": true };
/** Schemas of custom resources by their singular names. */
const customSchemas = {
  foo: { description: "Foo for testing.", type: "object", properties: { spec } },
  empty: { type: "object", ...preserve },
  open: {
    description: "Open for testing.",
    type: "object",
    properties: { spec: { type: "object", ...preserve } },
  },
};
/** Texts of `kubectl explain` for them, by path. */
const explained: readonly (readonly [path: string, text: RegExp])[] = [
  [
    "foos",
    /DESCRIPTION:.*Foo for testing.*FIELDS:.*apiVersion.*<string>.*APIVersion defines.*spec.*<Object>.*Spec/s,
  ],
  [
    "foos.metadata",
    /Standard object's metadata.*creationTimestamp.*<string>.*CreationTimestamp is a timestamp/s,
  ],
  ["foos.spec", /DESCRIPTION:.*Specification of Foo.*FIELDS:.*bars.*<\[\]Object>.*List of Bars/s],
  [
    "foos.spec.bars",
    /bars.*<\[\]Object>.*List of Bars.*FIELDS:.*bazs.*<\[\]string>.*List of Bazs.*name.*<string>.*N/s,
  ],
  ["emptys", /KIND:\s+Empty.*DESCRIPTION:.*<empty>/s],
  ["opens", /DESCRIPTION:.*Open for testing/s],
];

async function defineCustomResources({ call }: TestServer): Promise<void> {
  for (const [singular, openAPIV3Schema] of Object.entries(customSchemas)) {
    const plural = `${singular}s`;
    const kind = singular.charAt(0).toUpperCase() + singular.slice(1);
    const body = {
      metadata: { name: `${plural}.example.com` },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { plural, singular, kind },
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
      },
    };
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert.equal((await call("POST", path, { body })).status, 201);
    while ((await call("GET", `/apis/example.com/v1/${plural}`)).status !== 200)
      await new Promise((resolve) => setImmediate(resolve));
  }
}

suite("kubectl", { skip: await kubectlReason() }, () => {
  let tested: TestServer;
  let listener: Listener;
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "dray-openapi-"));
    const serving = await testServing();
    tested = await testServer({ serving });
    listener = await tested.server.listen();
    const cluster = {
      server: listener.url,
      "certificate-authority-data": Buffer.from(serving.clientAuthority).toString("base64"),
    };
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "dray", cluster }],
      users: [{ name: "admin", user: { token: adminToken } }],
      contexts: [{ name: "dray", context: { cluster: "dray", user: "admin" } }],
      "current-context": "dray",
    };
    await writeFile(join(folder, "config"), JSON.stringify(config));
  });

  after(async () => {
    await tested.server.close();
    await rm(folder, { recursive: true });
  });

  const kubectl = async (...args: string[]): Promise<{ code: number; output: string }> => {
    const all = ["--kubeconfig", join(folder, "config"), "--cache-dir", join(folder, "cache"), ...args];
    try {
      const { stdout, stderr } = await run("kubectl", all, { maxBuffer: 2 ** 24 });
      return { code: 0, output: stdout + stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, output: stdout + stderr };
    }
  };

  test("explains a field of a claim", async () => {
    const { code, output } = await kubectl("explain", "resourceclaim.spec.devices");
    assert.equal(code, 0, output);
    assert.match(output, /GROUP:\s+resource\.k8s\.io/);
    assert.match(output, /requests\s+<\[\]DeviceRequest>/);
  });

  test("explains the containers of a pod recursively", async () => {
    const { code, output } = await kubectl("explain", "pod.spec.containers", "--recursive");
    assert.equal(code, 0, output);
    assert.match(output, /name\s+<string> -required-/);
    assert.match(output, /limits\s+<map\[string\]Quantity>/);
    const deployment = await kubectl("explain", "deployment", "--recursive");
    // As with kube-apiserver: kubectl does not show those of the elements of a list (accessModes).
    assert.equal(deployment.output.match(/^ *enum: /gm)?.length, 85);
  });

  /** Upstream: test/e2e/apimachinery/crd_publish_openapi.go */
  test("explains a custom resource with and without a schema", async () => {
    await defineCustomResources(tested);
    for (const [path, text] of explained) {
      const { code, output } = await kubectl("explain", path);
      assert.equal(code, 0, output);
      assert.match(output, text);
    }
    const missing = await kubectl("explain", "foos.spec.bars2");
    assert.match(missing.output, /field "bars2" does not exist/);
  });

  test("apply reports an unknown field", async () => {
    const file = join(folder, "unknown.json");
    const claim = {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: { name: "claim", namespace: "default" },
      spec: { colour: "red", devices: {} },
    };
    await writeFile(file, JSON.stringify(claim));
    const { code, output } = await kubectl("apply", "--dry-run=server", "-f", file);
    assert.notEqual(code, 0);
    assert.match(output, /unknown field "spec\.colour"/);
  });

  test("apply creates the driver's daemon set, and updates it by a patch", async () => {
    await tested.namespace("dra-tutorial");
    const file = join(import.meta.dirname, "../../../../examples/dra/driver-install/daemonset.yaml");
    const created = await kubectl("apply", "-f", file);
    assert.equal(created.code, 0, created.output);
    assert.match(created.output, /daemonset\.apps\/\S+ created/);
    const again = await kubectl("apply", "-f", file);
    assert.match(again.output, /daemonset\.apps\/\S+ unchanged/);
  });
});
