/**
 * A stand-in for kubectl with the commands of docs/first-driver.md: apply, rollout status, get, wait, logs.
 * Other pages need the real one.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Kind, KubeObject } from "@dray/api";
import { kindOf } from "@dray/api/codec";
import { parseYAMLDocuments } from "@dray/api/yaml";
import { type Client, createClient, httpsTransport, loadKubeconfig, systemClock } from "@dray/client";
import { eventually } from "@dray/testing/eventually";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    filename: { type: "string", short: "f" },
    namespace: { type: "string", short: "n", default: "default" },
    output: { type: "string", short: "o" },
    for: { type: "string" },
    timeout: { type: "string", default: "30s" },
  },
});
const { namespace } = values;
const [verb = "", ...rest] = positionals;
const kinds: Readonly<Record<string, Kind<KubeObject>>> = {
  pod: kind("", "v1", "Pod"),
  daemonset: kind("apps", "v1", "DaemonSet"),
  resourceslices: kind("resource.k8s.io", "v1", "ResourceSlice"),
};

function kind(group: string, version: string, name: string): Kind<KubeObject> {
  const found = kindOf(group, version, name);
  if (found === undefined) throw new Error(`kubectl: no kind ${name} in ${group}/${version}`);
  return found as unknown as Kind<KubeObject>;
}

/** Follows a path of names and `[*]`, as in `.spec.devices[*].name`. */
function valuesAt(object: unknown, path: string): unknown[] {
  let found = [object];
  for (const [, name] of path.matchAll(/\.(\w+)|\[\*\]/g))
    found = found.flatMap((each) => {
      const next =
        name === undefined ? each : (each as Readonly<Record<string, unknown>> | undefined)?.[name];
      return name === undefined && Array.isArray(next) ? next : [next];
    });
  return found.filter((each) => each !== undefined);
}

const one = (resource: string): { kind: Kind<KubeObject>; ref: { namespace: string; name: string } } => {
  const [type = "", name = ""] = resource.split("/");
  const found = kinds[type];
  if (found === undefined) throw new Error(`kubectl: no resource ${type} here`);
  return { kind: found, ref: { namespace, name } };
};

const seconds = Number.parseInt(values.timeout, 10) * 1000;

const verbs: Readonly<Record<string, (client: Client) => Promise<string>>> = {
  async apply(client) {
    const lines: string[] = [];
    for (const { value } of parseYAMLDocuments(readFileSync(values.filename ?? "", "utf8"))) {
      const object = value as unknown as KubeObject;
      const [version = "", group = ""] = String(object.apiVersion).split("/").toReversed();
      const found = kind(group, version, object.kind ?? "");
      const metadata = { ...object.metadata, ...(found.namespaced && { namespace }), ...object.metadata };
      await client
        .resource(found)
        .apply({ ...object, metadata } as never, { fieldManager: "kubectl", force: true });
      lines.push(`${object.kind}/${metadata.name} applied`);
    }
    return lines.join("\n");
  },
  async rollout(client) {
    const { kind, ref } = one(rest[1] ?? "");
    await eventually(
      `${rest[1]} is rolled out`,
      async () => {
        const { status } = (await client.resource(kind).get(ref)) as { status?: Record<string, number> };
        const { desiredNumberScheduled = 0, numberAvailable = 0 } = status ?? {};
        return desiredNumberScheduled > 0 && desiredNumberScheduled === numberAvailable;
      },
      seconds,
    );
    return `${rest[1]} successfully rolled out`;
  },
  async get(client) {
    const type = rest[0] ?? "";
    const { items } = await client.resource(one(type).kind).list();
    if (values.output === "name") return items.map(({ metadata }) => `${type}/${metadata.name}`).join("\n");
    const columns = (values.output ?? "").replace("custom-columns=", "").split(",");
    const rows = items.map((item) =>
      columns.map((column) => valuesAt(item, column.split(":")[1]!).join(",")),
    );
    return [columns.map((column) => column.split(":")[0]), ...rows].map((row) => row.join("   ")).join("\n");
  },
  async wait(client) {
    const { kind, ref } = one(rest[0] ?? "");
    const [, path = "", wanted] = /^jsonpath='?\{(.*)\}'?=(.*)$/.exec(values.for ?? "") ?? [];
    const isSo = async (): Promise<boolean> =>
      valuesAt(await client.resource(kind).get(ref), path)[0] === wanted;
    await eventually(`${values.for} of ${rest[0]}`, isSo, seconds);
    return `${rest[0]} condition met`;
  },
  async logs(client) {
    const [first = ""] = rest;
    const url = `/api/v1/namespaces/${namespace}/pods`;
    if (!first.includes("/")) return client.text("GET", `${url}/${first}/log`);
    const { items } = await client.resource(one("pod").kind).list({ namespace });
    return client.text("GET", `${url}/${items[0]?.metadata.name}/log`);
  },
};

const run = verbs[verb];
if (run === undefined) throw new Error(`kubectl: ${verb} is not known here`);
const transport = httpsTransport((await loadKubeconfig()).connection);
const client = createClient({ transport, userAgent: "kubectl", clock: systemClock });
try {
  process.stdout.write(`${(await run(client)).trimEnd()}\n`);
} finally {
  client.close();
}
