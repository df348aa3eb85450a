import assert from "node:assert/strict";
import { test } from "node:test";
import { kubernetesVersions } from "@dray/api";
import { testServer } from "../testing/server.ts";
import { missingModules, upstreamFiles, upstreamSource } from "../testing/upstream.ts";

type Schema = Readonly<Record<string, unknown>>;
type Schemas = Readonly<Record<string, Schema>>;

/** Upstream's sources of each release. */
const sources: Readonly<Record<string, string>> = {
  "1.34": "k8s.io/kubernetes@v1.34.10",
  "1.35": "k8s.io/kubernetes@v1.35.4",
  "1.36": "k8s.io/kubernetes@v1.36.3",
  "1.37": "k8s.io/kubernetes@v1.37.1",
};

/** Parts of documents that differ from upstream's, and why. */
const differences: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/^\S+ x-kubernetes-unions$/, "no client reads it: left out"],
  [
    /\.meta\.v1\.(DeleteOptions|WatchEvent) x-kubernetes-group-version-kind$/,
    "ours names the group of the document",
  ],
  [/\.JSONSchemaProps\.\w+$/, "upstream has no description there, so that the reference is not in an allOf"],
  [/\.networking\.v1\.IngressRule\.http$/, "the same"],
  [
    /\.CertificateSigningRequest(Spec\.request|Status\.certificate)$/,
    "x-kubernetes-list-type of a text (1.36)",
  ],
  [/\.meta\.v1\.Status\.details$/, "x-kubernetes-list-type of a struct (1.34)"],
  [/\.PodStatus\.nodeAllocatableResourceClaimStatuses$/, "1.37 has made the list of 1.36 a map"],
];

/**
 * Fields whose enums the documents of 1.34 lack, though their types have the marker; those of 1.35 have them.
 */
const missingIn134 = new Set([
  "admissionregistration.v1.MutatingWebhook.reinvocationPolicy",
  "admissionregistration.v1.NamedRuleWithOperations.scope",
  "admissionregistration.v1.RuleWithOperations.scope",
]);

/** Documents that this server does not have; see the README of this package. */
const unserved =
  /^(logs|apis\/(internal\.apiserver|lifecycle|storagemigration|scheduling|certificates|storage)\.k8s\.io(\/v1(alpha|beta)\d)?)$/;

/** Our schemas of the documents at these paths; those that are not served are missing. */
async function documents(release: string, paths: readonly string[]): Promise<Map<string, Schemas>> {
  const { call, server } = await testServer({
    kubernetesVersion: release,
    runtimeConfig: { "api/all": true },
  });
  const all = new Map<string, Schemas>();
  for (const path of paths) {
    const { status, body } = await call("GET", `/openapi/v3/${path}`);
    if (status === 200) all.set(path, body.components?.schemas ?? {});
  }
  await server.close();
  return all;
}

/**
 * Sorted, without descriptions and enums: upstream's published documents lack the enums
 * (hack/update-openapi-spec.sh).
 */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(
    ([key, part]) =>
      !(key === "description" && typeof part === "string") && !(key === "enum" && Array.isArray(part)),
  );
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, part]) => [key, comparable(part)]),
  );
}

/** Names of the parts of two schemas that differ: `NAME.FIELD` for fields, `NAME KEY` for all else. */
function differingParts(name: string, theirs: Schema, ours: Schema): string[] {
  const parts = (schema: Schema): Map<string, string> => {
    const { properties = {}, ...rest } = comparable(schema) as Schema;
    return new Map([
      ...Object.entries(properties as Schema).map(
        ([key, part]) => [`${name}.${key}`, JSON.stringify(part)] as const,
      ),
      ...Object.entries(rest).map(([key, part]) => [`${name} ${key}`, JSON.stringify(part)] as const),
    ]);
  };
  const [left, right] = [parts(theirs), parts(ours)];
  return [...new Set([...left.keys(), ...right.keys()])].filter((key) => left.get(key) !== right.get(key));
}

/**
 * `apps.v1.DeploymentStrategy.type` and its values, from the Go source that upstream's documents are made of.
 */
function upstreamEnums(source: string): Map<string, string> {
  const enums = new Map<string, string>();
  let [type, field] = ["", ""];
  for (const line of source.split("\n")) {
    const begin = /^func schema_(?:k8sio_api|pkg_apis)_(\w+?)_(v\d\w*?)_(\w+)\(/.exec(line);
    if (begin !== null) type = begin.slice(1).join(".");
    field = /^\t{5}"([^"]+)": \{$/.exec(line)?.[1] ?? field;
    const values = /^\t+Enum: +\[\]interface\{\}\{(.*)\},$/.exec(line)?.[1];
    if (values !== undefined) enums.set(`${type}.${field}`, `[${values.replaceAll(", ", ",")}]`);
  }
  return enums;
}

/** `apps.v1.Deployment` */
const shortName = (name: string): string => name.split(".").slice(-3).join(".");

/** The same of our schemas. */
function enumsOf(all: ReadonlyMap<string, Schemas>): Map<string, string> {
  const enums = new Map<string, string>();
  for (const schemas of all.values()) {
    for (const [name, { properties = {} }] of Object.entries(schemas)) {
      for (const [field, part] of Object.entries(properties as Schemas)) {
        const values = JSON.stringify(part).match(/"enum":(\[[^\]]*\])/)?.[1];
        if (values !== undefined) enums.set(`${shortName(name)}.${field}`, values);
      }
    }
  }
  return enums;
}

for (const release of kubernetesVersions) {
  const source = sources[release]!;
  test(`schemas of ${release} are those of upstream's documents`, {
    skip: missingModules(source),
  }, async () => {
    const folder = "api/openapi-spec/v3";
    const pathOf = (file: string): string => file.replace("_openapi.json", "").replaceAll("__", "/");
    const files = new Map(upstreamFiles(source, folder).map((file) => [pathOf(file), file]));
    const all = await documents(release, [...files.keys()]);
    const served = new Map([...all.values()].flatMap((schemas) => Object.entries(schemas)));
    const published = new Set<string>();
    const [unexplained, explained] = [new Set<string>(), new Set<RegExp>()];
    for (const [path, file] of files) {
      const ours = all.get(path);
      if (ours === undefined) {
        if (!unserved.test(path)) unexplained.add(path);
        continue;
      }
      const { components } = JSON.parse(upstreamSource(`${source}/${folder}/${file}`));
      for (const [name, theirs] of Object.entries((components?.schemas ?? {}) as Schemas)) {
        // Kinds that are not served, and what only they reach.
        const anywhere = served.get(name);
        if (anywhere === undefined) continue;
        published.add(shortName(name));
        for (const part of differingParts(name, theirs, ours[name] ?? anywhere)) {
          const known = differences.find(([pattern]) => pattern.test(part));
          if (known === undefined) unexplained.add(part);
          else explained.add(known[0]);
        }
      }
    }
    assert.deepEqual([...unexplained], []);
    assert.ok(explained.size > 0);

    const theirs = upstreamEnums(upstreamSource(`${source}/pkg/generated/openapi/zz_generated.openapi.go`));
    const ours = enumsOf(all);
    if (release === "1.34")
      for (const field of missingIn134) assert.ok(ours.delete(field) && !theirs.has(field), field);
    const inBoth = (enums: ReadonlyMap<string, string>): Schema =>
      Object.fromEntries(
        [...enums].filter(([field]) => published.has(field.slice(0, field.lastIndexOf(".")))).sort(),
      );
    assert.ok(Object.keys(inBoth(theirs)).length > 90);
    assert.deepEqual(inBoth(ours), inBoth(theirs));
  });
}
