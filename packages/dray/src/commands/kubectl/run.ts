import { readFileSync } from "node:fs";
import { apiVersionOf, decodeJSON, encodeJSON, type Kind, type KubeObject } from "@dray/api";
import { Namespace, Pod } from "@dray/api/core/v1";
import type { Table } from "@dray/api/meta/v1";
import type { Client } from "@dray/client";
import { connect } from "../../connection/connect.ts";
import { kindByApiVersion, kindByName } from "../../manifests/kinds.ts";
import { UsageError } from "../../terminal/failure.ts";
import { type Arguments, parseArguments } from "./arguments.ts";
import { printTable } from "./print-table.ts";

const tableForm = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/**
 * `dray kubectl`: get, apply --server-side, create namespace, delete and logs, with the output of the real
 * one. For machines without kubectl; all other commands need kubectl.
 */
export async function kubectl(args: readonly string[]): Promise<void> {
  const parsed = parseArguments(args);
  const kubeconfig = parsed.flags.get("--kubeconfig");
  const context = parsed.flags.get("--context");
  const flags = { ...(kubeconfig && { kubeconfig }), ...(context && { context }) };
  const verb = verbs.get(parsed.verb);
  if (verb === undefined) {
    throw new UsageError(`unknown verb ${parsed.verb}: must be one of ${[...verbs.keys()].join(", ")}`);
  }
  const { client, namespace } = await connect(flags, "dray-kubectl");
  try {
    await verb(client, parsed, parsed.flags.get("--namespace") ?? namespace);
  } finally {
    client.close();
  }
}

type Verb = (client: Client, args: Arguments, namespace: string) => Promise<void>;

const verbs: ReadonlyMap<string, Verb> = new Map(
  Object.entries({ get, apply, create, delete: remove, logs }),
);

const print = (text: string): void => void process.stdout.write(text);

function pathOf(kind: Kind, namespace: string | undefined, name?: string): string {
  const root = kind.group === "" ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const inside = kind.namespaced && namespace !== undefined ? `/namespaces/${namespace}` : "";
  return `${root}${inside}/${kind.resource}${name === undefined ? "" : `/${name}`}`;
}

/** `pods`, `deviceclass.resource.k8s.io`: kubectl's name of a kind in its messages. */
function qualified(kind: Kind): string {
  return kind.group === "" ? kind.kind.toLowerCase() : `${kind.kind.toLowerCase()}.${kind.group}`;
}

async function get(client: Client, { positional, flags }: Arguments, namespace: string): Promise<void> {
  const [resource, name] = positional;
  if (resource === undefined) throw new UsageError("get needs a resource type: get pods");
  const kind = kindByName(resource);
  const everywhere = flags.has("--all-namespaces");
  const output = flags.get("--output");
  const selector = flags.get("--selector");
  const query = selector === undefined ? "" : `?labelSelector=${encodeURIComponent(selector)}`;
  const url = pathOf(kind, everywhere ? undefined : namespace, name) + query;
  if (output === "yaml" || output === "json") {
    // Printed as it is; the two fields that are read are checked.
    const object = withoutManagedFields(decodeJSON(await client.text("GET", url)) as Shown);
    print(output === "json" ? `${encodeJSON(object, 4)}\n` : await yamlText(object));
    return;
  }
  // The type has null where the server writes it.
  const table = JSON.parse(await client.text("GET", url, { headers: { accept: tableForm } })) as Table;
  if ((table.rows ?? []).length === 0) {
    const where = kind.namespaced && !everywhere ? ` in ${namespace} namespace.` : "";
    process.stderr.write(`No resources found${where}\n`);
    return;
  }
  print(printTable(table, { wide: output === "wide", namespaces: kind.namespaced && everywhere }));
}

/** An object or a list of objects. */
interface Shown {
  readonly metadata?: { readonly managedFields?: unknown };
  readonly items?: readonly Shown[];
}

/** As kubectl, hides the owners of fields unless they are requested. */
function withoutManagedFields(object: Shown): Shown {
  const { managedFields: _, ...metadata } = object.metadata ?? {};
  return {
    ...object,
    ...(object.metadata && { metadata }),
    ...(object.items && { items: object.items.map(withoutManagedFields) }),
  };
}

async function yamlText(object: unknown): Promise<string> {
  const { stringify } = await import("yaml");
  // Version 1.1 quotes texts that look like a time, as kubectl does.
  return stringify(object, { version: "1.1", sortMapEntries: true, indentSeq: false, lineWidth: 80 });
}

async function apply(client: Client, { flags }: Arguments, namespace: string): Promise<void> {
  if (!flags.has("--server-side")) throw new UsageError("only apply --server-side is known");
  const file = flags.get("--filename");
  if (file === undefined) throw new UsageError("apply needs -f FILE");
  const { parseAllDocuments } = await import("yaml");
  for (const document of parseAllDocuments(readFileSync(file, "utf8"))) {
    if (document.errors[0] !== undefined) throw new UsageError(`${file}: ${document.errors[0].message}`);
    const object = document.toJS() as KubeObject | null;
    if (object === null) continue;
    const kind = kindByApiVersion(object.apiVersion, object.kind);
    const inside = (object.metadata as { namespace?: string }).namespace ?? namespace;
    const metadata = kind.namespaced ? { ...object.metadata, namespace: inside } : object.metadata;
    await client
      .resource(kind)
      .apply({ ...object, metadata }, { fieldManager: "kubectl", fieldValidation: "Strict" });
    print(`${qualified(kind)}/${object.metadata.name} serverside-applied\n`);
  }
}

async function create(client: Client, { positional }: Arguments): Promise<void> {
  const [what, name] = positional;
  if ((what !== "namespace" && what !== "ns") || name === undefined) {
    throw new UsageError("only create namespace NAME is known; apply --server-side -f FILE creates anything");
  }
  const object = { apiVersion: apiVersionOf(Namespace), kind: "Namespace", metadata: { name }, spec: {} };
  await client.resource(Namespace).create(object);
  print(`namespace/${name} created\n`);
}

async function remove(client: Client, { positional }: Arguments, namespace: string): Promise<void> {
  const [resource, ...names] = positional;
  if (resource === undefined || names.length === 0)
    throw new UsageError("delete needs a type and a name: delete pod NAME");
  const kind = kindByName(resource);
  for (const name of names) {
    const ref = kind.namespaced ? { namespace, name } : { name };
    const objects = client.resource(kind);
    const { metadata } = await objects.get(ref);
    await objects.delete(ref, { propagationPolicy: "Background" });
    print(`${qualified(kind)} "${name}" deleted\n`);
    await gone(client, kind, ref, metadata.uid);
  }
}

/** Resolves when the object with that uid is gone. */
async function gone(
  client: Client,
  kind: Kind,
  ref: { namespace?: string; name: string },
  uid: string,
): Promise<void> {
  const query = {
    ...(ref.namespace && { namespace: ref.namespace }),
    fieldSelector: `metadata.name=${ref.name}`,
  };
  const list = await client.resource(kind).list(query);
  if (!list.items.some((item) => item.metadata.uid === uid)) return;
  for await (const event of client
    .resource(kind)
    .watch({ ...query, resourceVersion: list.resourceVersion })) {
    if (event.type === "DELETED" && event.object.metadata.uid === uid) return;
  }
}

async function logs(client: Client, { positional, flags }: Arguments, namespace: string): Promise<void> {
  const selector = flags.get("--selector");
  const named = positional[0];
  if ((named === undefined) === (selector === undefined))
    throw new UsageError("logs needs a pod or -l SELECTOR");
  const names =
    selector === undefined
      ? positional.slice(0, 1)
      : (await client.resource(Pod).list({ namespace, labelSelector: selector })).items.map(
          (pod) => pod.metadata.name,
        );
  const query = new URLSearchParams();
  const container = flags.get("--container");
  if (container !== undefined) query.set("container", container);
  const tail = flags.get("--tail") ?? (selector === undefined ? undefined : "10");
  if (tail !== undefined) query.set("tailLines", tail);
  for (const name of names) {
    for await (const chunk of client.stream(`${pathOf(Pod, namespace, name)}/log?${query}`))
      process.stdout.write(chunk);
  }
}
