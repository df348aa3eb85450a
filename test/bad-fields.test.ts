import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { StatusError } from "@dray/api";
import { createClient, httpsTransport, loadKubeconfig } from "@dray/client";
import { startCluster } from "@dray/cluster/testing";
import { bases } from "./bad-fields/bases.ts";
import { badValues } from "./bad-fields/cases.ts";
import type { BadValue, Kind } from "./bad-fields/rows.ts";
import { repository } from "./harness.ts";

/** A bad value of every field in the specs of resource.k8s.io, over HTTPS: the Status has the cause. */

type Row = readonly [
  name: string,
  number: number,
  type: string,
  marks?: { until?: string; inline?: boolean },
];

const types: Readonly<Record<string, readonly Row[] | undefined>> = Object.assign(
  {},
  ...["resource", "core"].map((group) => {
    const file = join(repository, "packages", "api", "src", "schema", "table", `${group}.json`);
    return JSON.parse(readFileSync(file, "utf8")).types;
  }),
);

/** The paths of all fields below a type, as `devices[].name`; the values of maps count as items. */
function pathsOf(type: string, path: string): string[] {
  const inner = /^(?:\[\]|map<)(.*?)>?$/.exec(type)?.[1];
  if (inner !== undefined) return pathsOf(inner, `${path}[]`);
  const rows = type.includes(".") ? (types[type] ?? []) : [];
  return rows
    .filter(([, , , marks]) => marks?.until === undefined)
    .flatMap(([name, , below, marks]) => {
      const at = marks?.inline ? path : path === "" ? name : `${path}.${name}`;
      return [...(marks?.inline ? [] : [at]), ...pathsOf(below, at)];
    });
}

function plain(path: string): string {
  return path.replaceAll(/\[[^\]]*\]/g, "[]");
}

const urls: Readonly<Record<Kind, string>> = {
  DeviceClass: "deviceclasses",
  DeviceTaintRule: "devicetaintrules",
  ResourceClaim: "namespaces/default/resourceclaims",
  ResourceSlice: "resourceslices",
};

const kinds = Object.keys(urls) as Kind[];

test("every field has a bad value", () => {
  for (const kind of kinds) {
    const tried = new Set(badValues[kind].map(({ path }) => plain(path)));
    const left = pathsOf(`resource/v1.${kind}Spec`, "").filter((path) => !tried.has(path));
    assert.deepEqual(left, [], `${kind}: fields without a case`);
  }
});

/** A copy of `base` with `value` at `path` (`a[0].b`, `a[key].b`); undefined removes the field. */
function changed(base: object, path: string, value: unknown): object {
  const copy = structuredClone(base);
  const steps = path.split(/[.[]/).map((step) => step.replace("]", ""));
  const last = steps.pop()!;
  // biome-ignore lint/suspicious/noExplicitAny: any object
  let at: any = copy;
  for (const step of steps) at = at[step] ??= {};
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}

test("each bad value is refused with the cause that upstream has", async () => {
  await using cluster = await startCluster({
    nodes: 0,
    runtimeConfig: { "api/all": true },
    featureGates: "AllAlpha=true,AllBeta=true",
  });
  const { connection } = await loadKubeconfig({ file: cluster.kubeconfig });
  const client = createClient({ transport: httpsTransport(connection), userAgent: "test" });
  const post = async (kind: Kind, version: string, spec: object): Promise<StatusError | undefined> => {
    const body = { apiVersion: `resource.k8s.io/${version}`, kind, metadata: { name: "bad" }, spec };
    const url = `/apis/resource.k8s.io/${version}/${urls[kind]}?dryRun=All&fieldValidation=Strict`;
    try {
      await client.text("POST", url, { body });
      return undefined;
    } catch (error) {
      if (error instanceof StatusError) return error;
      throw error;
    }
  };
  const problems: string[] = [];
  const check = async (kind: Kind, version: string, bad: BadValue): Promise<void> => {
    const base = bases[bad.base ?? kind]!;
    const label = `${kind} ${version} ${bad.path} = ${JSON.stringify(bad.value)?.slice(0, 80)}`;
    const error = await post(kind, version, changed(base, bad.path, bad.value));
    if (error === undefined) return void problems.push(`${label}: accepted`);
    const code = bad.reason === "BadRequest" ? 400 : 422;
    if (error.code !== code) return void problems.push(`${label}: ${error.code} ${error.message}`);
    if (code === 400) return;
    const causes = error.status.details?.causes ?? [];
    const wanted = `FieldValue${bad.reason} spec${bad.at === "" ? "" : `.${bad.at ?? bad.path}`}`;
    const found = causes.map(({ reason, field }) => `${reason} ${field}`);
    if (error.reason !== "Invalid" || !found.includes(wanted) || (bad.alone !== false && found.length !== 1))
      problems.push(`${label}: ${wanted} expected, not ${error.message}`);
  };
  try {
    for (const [name, base] of Object.entries(bases)) {
      const error = await post(kinds.find((kind) => name.startsWith(kind))!, "v1", base);
      assert.equal(error, undefined, `${name} itself: ${error?.message}`);
    }
    for (const kind of kinds)
      for (const version of ["v1", "v1beta2"])
        for (const bad of badValues[kind]) await check(kind, version, bad);
    assert.deepEqual(problems, []);
  } finally {
    client.close();
  }
});
