import { encodeProtobuf } from "@dray/api/codec";
import type { Random } from "@dray/testing/random";
import { encodeYAML } from "../../packages/apiserver/src/yaml/emit.ts";
import { bombs } from "./bombs.ts";
import type { Scenario, Step } from "./corpus.ts";
import { customResources } from "./custom.ts";
import { grown, growthsOf } from "./grown.ts";
import { largeRequests } from "./large.ts";
import { changedBytes, changedText, mutated } from "./mutate.ts";
import type { Sent } from "./target.ts";

/** The requests of one round, from a scenario: in the order in which they are sent. */
export type Generator = (random: Random, scenario: Scenario) => Sent[];

const json = "application/json";
const yaml = "application/yaml";
const protobuf = "application/vnd.kubernetes.protobuf";
const patches = [
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/json-patch+json",
  "application/apply-patch+yaml",
];

function sent(step: Step, change: Partial<Sent> & { readonly contentType?: string } = {}): Sent {
  const body = change.body ?? bodyOf(step);
  const type = change.contentType ?? step.contentType ?? json;
  return {
    method: change.method ?? step.method,
    url: change.url ?? filled(step.path),
    headers: {
      accept: step.accept ?? json,
      "user-agent": "fuzz/1",
      ...(body === undefined || type === "-" ? {} : { "content-type": type }),
      ...change.headers,
    },
    ...(body === undefined ? {} : { body }),
  };
}

/** References to earlier answers mean nothing here. */
const filled = (text: string): string => text.replace(/\$\{[^}]*\}/g, "1");

function bodyOf(step: Step): Uint8Array | undefined {
  if (step.rawBody !== undefined) return Buffer.from(step.rawBody);
  if (step.base64Body !== undefined) return Buffer.from(step.base64Body, "base64");
  return step.body === undefined ? undefined : Buffer.from(filled(JSON.stringify(step.body)));
}

/**
 * The steps of a scenario, of which those with a body that `changes` takes are changed, the first ones
 * seldom.
 */
function steps(
  random: Random,
  { steps: all }: Scenario,
  change: (step: Step & { readonly body: object }) => Sent,
): Sent[] {
  return all.map((step, index) => {
    const { body } = step;
    const fit = typeof body === "object" && body !== null && !isPatch(step);
    return fit && random.chance(index === 0 ? 0.1 : 0.7) ? change({ ...step, body }) : sent(step);
  });
}

const isPatch = (step: Step): boolean => step.method === "PATCH";
const query = (random: Random): string =>
  random.pick(["", "", "?fieldValidation=Strict", "?fieldValidation=Ignore", "?dryRun=All"]);
const withQuery = (random: Random, step: Step): string =>
  step.path.includes("?") ? filled(step.path) : `${filled(step.path)}${query(random)}`;

/** An object with a long list or map, made and changed in all ways. */
function grownWrites(random: Random, step: Step): Sent[] {
  const growths = growthsOf(random, step.body);
  const [first, second] = [0, 1].map((turn) => Buffer.from(JSON.stringify(grown(step.body, growths, turn))));
  const { name } = (step.body as { metadata?: { name?: unknown } }).metadata ?? {};
  const made = sent(step, { body: first!, url: withQuery(random, step), contentType: json });
  if (typeof name !== "string") return [made];
  const url = `${filled(step.path).split("?")[0]}/${encodeURIComponent(name)}`;
  const change = (method: string, contentType: string, body = second!, suffix = ""): Sent =>
    sent(step, { method, url: `${url}${suffix}`, contentType, body });
  return [
    made,
    change("PUT", json),
    change("PUT", json, first, random.pick(["/status", "/resize", "/ephemeralcontainers", ""])),
    change("PATCH", patches[random.below(2)]!),
    change("PATCH", patches[3]!, first, "?fieldManager=f&force=true"),
    change("PATCH", patches[3]!, second, "?fieldManager=f&force=true"),
    sent(step, { method: "GET", url, headers: { accept: random.pick(accepts) } }),
  ];
}

export const generators: Readonly<Record<string, Generator>> = {
  customresources: customResources,

  bombs,

  large: largeRequests,

  grown: (random, scenario) => {
    const posts = scenario.steps.filter(
      (step) => step.method === "POST" && growthsOf(random, step.body).length > 0,
    );
    const chosen = posts.length === 0 ? undefined : random.pick(posts);
    return scenario.steps.flatMap((step) => (step === chosen ? grownWrites(random, step) : [sent(step)]));
  },

  json: (random, scenario) =>
    steps(random, scenario, (step) => {
      const text = JSON.stringify(mutated(random, step.body));
      const body = random.chance(0.1) ? changedBytes(random, Buffer.from(text)) : Buffer.from(text);
      return sent(step, { url: withQuery(random, step), contentType: json, body });
    }),

  yaml: (random, scenario) =>
    steps(random, scenario, (step) => {
      const tree = mutated(random, step.body) as object;
      const text = typeof tree === "object" && tree !== null ? encodeYAML(tree) : String(tree);
      const body = Buffer.from(random.chance(0.6) ? changedYAML(random, text) : text);
      return sent(step, { url: withQuery(random, step), contentType: yaml, body });
    }),

  protobuf: (random, scenario) =>
    steps(random, scenario, (step) => {
      const whole = protobufOf(step.body);
      if (whole === undefined) return sent(step);
      const body = changedBytes(random, whole);
      return sent(step, { contentType: protobuf, body, headers: { accept: random.pick([json, protobuf]) } });
    }),

  patches: (random, scenario) =>
    scenario.steps.flatMap((step): Sent[] => {
      if (isPatch(step)) return [patchOf(random, step, filled(step.path))];
      const name = (step.body as { metadata?: { name?: unknown } } | undefined)?.metadata?.name;
      if (step.method !== "POST" || typeof name !== "string") return [sent(step)];
      const url = `${step.path.split("?")[0]}/${encodeURIComponent(name)}`;
      const after = Array.from({ length: random.below(3) }, () =>
        patchOf(random, step, `${url}${random.pick(["", "/status", "/scale"])}`),
      );
      return [sent(step), ...after];
    }),

  selectors: (random, scenario) =>
    scenario.steps.flatMap((step): Sent[] => {
      if (step.method !== "POST") return [];
      const label = changed(random, random.pick(labelSelectors));
      const field = changed(random, random.pick(fieldSelectors));
      const query = new URLSearchParams(
        random.pick([
          { labelSelector: label },
          { fieldSelector: field },
          { labelSelector: label, fieldSelector: field },
        ]),
      );
      if (random.chance(0.3)) query.set("watch", "true");
      return [
        sent(step),
        { method: "GET", url: `${filled(step.path).split("?")[0]}?${query}`, headers: { accept: json } },
      ];
    }),

  urls: (random, scenario) =>
    scenario.steps.map((step) => {
      if (random.chance(0.3)) return sent(step);
      const [path = "", old = ""] = filled(step.path).split("?");
      const url = random.chance(0.5) ? changedText(random, path) : path;
      const more = Array.from({ length: random.below(3) }, () => {
        const value = random.pick([
          "",
          "x",
          "0",
          "-1",
          "true",
          "9".repeat(20),
          "%zz",
          "%00",
          "All",
          "1s",
          "1h",
        ]);
        return `${random.pick(options)}=${value}`;
      });
      const query = [random.chance(0.3) ? changedText(random, old) : old, ...more].filter(
        (text) => text !== "",
      );
      const safe = `/${url.replace(/^\/+/, "")}`.replace(/[^\x21-\x7e]/g, (character) =>
        encodeSafely(character),
      );
      return sent(step, {
        url: query.length === 0 ? safe : `${safe}?${query.join("&").replace(/[^\x21-\x7e]/g, "_")}`,
        method: random.chance(0.2) ? random.pick(methods) : step.method,
        headers: {
          accept: random.pick(accepts),
          ...(random.chance(0.2) ? { [random.pick(headerNames)]: changed(random, "system:node:a,b") } : {}),
        },
      });
    }),
};

function protobufOf(body: object): Uint8Array | undefined {
  try {
    return encodeProtobuf(body);
  } catch {
    return undefined;
  }
}

function patchOf(random: Random, step: Step, url: string): Sent {
  const contentType = random.chance(0.7) && isPatch(step) ? (step.contentType ?? json) : random.pick(patches);
  const isList = contentType === "application/json-patch+json";
  const base = isList && !Array.isArray(step.body) ? operations(random, step.body) : step.body;
  const tree = mutated(random, base ?? {}, random.below(4));
  const text =
    contentType.endsWith("yaml") && random.chance(0.3)
      ? yamlOf(tree)
      : JSON.stringify(directed(random, tree));
  const manager =
    contentType.endsWith("yaml") && !url.includes("fieldManager") ? "fieldManager=f&force=true" : "";
  const mark = url.includes("?") ? "&" : "?";
  return sent(step, {
    method: "PATCH",
    url: manager === "" ? url : `${url}${mark}${manager}`,
    contentType,
    body: Buffer.from(random.chance(0.1) ? changedText(random, text) : text),
  });
}

const yamlOf = (tree: unknown): string =>
  typeof tree === "object" && tree !== null ? encodeYAML(tree) : String(tree);

/** A JSON patch about the fields of an object. */
function operations(random: Random, body: unknown): object[] {
  const paths = pathsOf(body);
  return Array.from({ length: 1 + random.below(4) }, () => ({
    op: random.pick(["add", "remove", "replace", "move", "copy", "test", "", "x"]),
    path: random.pick(paths),
    from: random.pick(paths),
    value: mutated(random, body, 1),
  }));
}

function pathsOf(tree: unknown, at = ""): string[] {
  if (typeof tree !== "object" || tree === null) return [at, `${at}/-`, `${at}/0`];
  const below = Object.entries(tree).flatMap(([key, value]) => pathsOf(value, `${at}/${key}`));
  return [at, `${at}/-`, ...below];
}

/** With a directive of strategic merge patches somewhere in it. */
function directed(random: Random, tree: unknown): unknown {
  if (typeof tree !== "object" || tree === null || random.chance(0.6)) return tree;
  const entries = Object.values(tree).filter(
    (value) => typeof value === "object" && value !== null,
  ) as object[];
  const target = (entries.length > 0 && random.chance(0.7) ? random.pick(entries) : tree) as Record<
    string,
    unknown
  >;
  if (Array.isArray(target)) return tree;
  const key = Object.keys(target)[0] ?? "x";
  const directive = random.pick([
    "$patch",
    "$retainKeys",
    `$setElementOrder/${key}`,
    `$deleteFromPrimitiveList/${key}`,
  ]);
  target[directive] = random.pick([
    "delete",
    "replace",
    "merge",
    "x",
    [],
    [key],
    [{ name: "c" }],
    {},
    null,
    1,
  ]);
  return tree;
}

const changed = (random: Random, text: string): string =>
  random.chance(0.8) ? changedText(random, text) : text;
const encodeSafely = (character: string): string => {
  try {
    return encodeURIComponent(character);
  } catch {
    return "%EF%BF%BD";
  }
};

function changedYAML(random: Random, text: string): string {
  const lines = text.split("\n");
  const at = random.below(lines.length);
  const more = random.pick([
    "- ",
    "? ",
    "&a ",
    "*a ",
    "!!binary ",
    "|",
    ">",
    "<<: *a",
    "---",
    "...",
    "%YAML 1.1",
    "a: &a [*a]",
    "\t",
    "'",
    '"',
    "{",
    "[",
  ]);
  lines.splice(at, random.below(2), random.chance(0.5) ? `${lines[at]} ${more}` : more);
  return random.chance(0.3) ? changedText(random, lines.join("\n")) : lines.join("\n");
}

const labelSelectors = [
  "a=b",
  "a in (b,c),d notin (e)",
  "!a,b",
  "a!=b,c",
  "k8s.io/x=y",
  "a>1,b<2",
  "a in ()",
  "a==b",
];
const fieldSelectors = [
  "metadata.name=a",
  "metadata.namespace!=b",
  "spec.nodeName=n,status.phase=Running",
  "a\\,b=c",
  "a=b\\=c",
  "x",
];
const options = [
  ...[
    "limit",
    "continue",
    "watch",
    "resourceVersion",
    "resourceVersionMatch",
    "timeoutSeconds",
    "sendInitialEvents",
  ],
  ...[
    "allowWatchBookmarks",
    "labelSelector",
    "fieldSelector",
    "dryRun",
    "fieldManager",
    "fieldValidation",
    "force",
  ],
  ...[
    "pretty",
    "timeout",
    "gracePeriodSeconds",
    "propagationPolicy",
    "orphanDependents",
    "includeObject",
    "tailLines",
  ],
];
const methods = ["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "FOO"];
const accepts = [
  ...[
    json,
    yaml,
    protobuf,
    "*/*",
    "",
    "text/html",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "a;b=c;d,e/f/g",
  ],
  ...[
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    `${protobuf};as=PartialObjectMetadata;v=v1;g=meta.k8s.io`,
  ],
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
];
const headerNames = [
  "impersonate-user",
  "impersonate-group",
  "impersonate-uid",
  "impersonate-extra-x",
  "if-none-match",
  "content-type",
];
