import { type Fields, MalformedLine, optional, required, requiredList, short } from "../format.ts";

/** As whom a request is sent: nobody, or somebody whom the administrator impersonates. */
export interface User {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface Answer {
  readonly status: number;
  readonly contentType?: string;
  readonly warnings: readonly string[];
  readonly headers: Fields;
  /** Undefined: not compared. */
  readonly body: unknown;
}

/** The compared part of a body: keys, indices, elements with these values, the keys of an object. */
export type Pick = readonly (string | Fields)[];

/**
 * One request with the recorded answer. `${id.path}` in its texts stands for a field of an earlier answer.
 */
export interface Step {
  readonly id?: string;
  readonly method: string;
  readonly path: string;
  readonly contentType?: string;
  readonly accept?: string;
  readonly body: Body;
  readonly user?: User | "none";
  readonly headers: Readonly<Record<string, string>>;
  /** Seconds for which a stream is read. */
  readonly watchSeconds?: number;
  /** Seconds to wait before the request. */
  readonly delay: number;
  /** Repeat the request until this is the status. */
  readonly poll?: number;
  readonly pick?: Pick;
  readonly drop: readonly string[];
  readonly managedFields: boolean;
  readonly expectHeaders: readonly string[];
  readonly expect: Answer;
}

export type Body =
  | { readonly type: "none" }
  | { readonly type: "json"; readonly value: unknown }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "bytes"; readonly bytes: Buffer }
  | {
      readonly type: "big";
      readonly prefix: string;
      readonly fill: string;
      readonly count: number;
      readonly suffix: string;
    };

/** Requests one after the other, each with the answer that a kube-apiserver gave. */
export interface Scenario {
  readonly name: string;
  /** Release of the kube-apiserver that answered; 1.36 if the line has none. */
  readonly release: string;
  readonly steps: readonly Step[];
  /** Paths of what it makes. */
  readonly cleanup: readonly string[];
  /** Everything that the scenario itself writes, as one text: its words are not tokens. */
  readonly written: string;
}

/** Throws MalformedLine. */
export function readScenario(line: Fields): Scenario {
  const common = {
    drop: strings(line, "drop", ""),
    managedFields: optional(line, "managedFields", "boolean") ?? false,
  };
  const steps = requiredList(line, "steps", "object");
  return {
    name: required(line, "name", "string"),
    release: optional(line, "release", "string") ?? "1.36",
    cleanup: strings(line, "cleanup", ""),
    steps: steps.map((step, i) => readStep(step, `steps[${i}].`, common)),
    written: JSON.stringify(
      steps.map(({ expect: _, ...request }) => request),
      (_, value: unknown) => (typeof value === "bigint" ? String(value) : value),
    ),
  };
}

function readStep(
  step: Fields,
  at: string,
  common: { readonly drop: readonly string[]; readonly managedFields: boolean },
): Step {
  const expect = required(step, "expect", "object", at);
  const text = <K extends string>(name: K): { readonly [key in K]?: string } => {
    const value = optional(step, name, "string", at);
    return (value === undefined ? {} : { [name]: value }) as { readonly [key in K]?: string };
  };
  const poll = optional(step, "poll", "object", at);
  const watchSeconds = optional(step, "watchSeconds", "number", at);
  const pick = optional(step, "pick", "list", at);
  const contentType = optional(expect, "contentType", "string", `${at}expect.`);
  const user = readUser(step, at);
  return {
    ...text("id"),
    method: required(step, "method", "string", at),
    path: required(step, "path", "string", at),
    ...text("contentType"),
    ...text("accept"),
    body: readBody(step, at),
    ...(user === undefined ? {} : { user }),
    headers: (optional(step, "headers", "object", at) ?? {}) as Record<string, string>,
    ...(watchSeconds === undefined ? {} : { watchSeconds: Number(watchSeconds) }),
    delay: Number(optional(step, "delay", "number", at) ?? 0),
    ...(poll === undefined ? {} : { poll: Number(required(poll, "status", "number", `${at}poll.`)) }),
    ...(pick === undefined ? {} : { pick: pick as Pick }),
    drop: [...common.drop, ...strings(step, "drop", at)],
    managedFields: optional(step, "managedFields", "boolean", at) ?? common.managedFields,
    expectHeaders: strings(step, "expectHeaders", at),
    expect: {
      status: Number(required(expect, "status", "number", `${at}expect.`)),
      ...(contentType === undefined ? {} : { contentType }),
      warnings: strings(expect, "warnings", `${at}expect.`),
      headers: optional(expect, "headers", "object", `${at}expect.`) ?? {},
      body: expect["body"],
    },
  };
}

function readBody(step: Fields, at: string): Body {
  const given = ["body", "rawBody", "base64Body", "bigBody"].filter((name) => step[name] !== undefined);
  if (given.length > 1) throw new MalformedLine(`${at}${given[1]}: there is a ${given[0]} already`);
  switch (given[0]) {
    case undefined:
      return { type: "none" };
    case "body":
      return { type: "json", value: step["body"] };
    case "rawBody":
      return { type: "text", text: required(step, "rawBody", "string", at) };
    case "base64Body":
      return { type: "bytes", bytes: Buffer.from(required(step, "base64Body", "string", at), "base64") };
    default: {
      const big = required(step, "bigBody", "object", at);
      const within = `${at}bigBody.`;
      return {
        type: "big",
        prefix: optional(big, "prefix", "string", within) ?? "",
        fill: required(big, "fill", "string", within),
        count: Number(required(big, "count", "number", within)),
        suffix: optional(big, "suffix", "string", within) ?? "",
      };
    }
  }
}

function readUser(step: Fields, at: string): User | "none" | undefined {
  const user = step["user"];
  if (user === undefined || user === "none") return user;
  if (typeof user === "string") return { name: user, groups: [], extra: {} };
  const fields = required(step, "user", "object", at);
  const uid = optional(fields, "uid", "string", `${at}user.`);
  const extra = optional(fields, "extra", "object", `${at}user.`) ?? {};
  const lists = Object.entries(extra).map(([key, value]) => [key, Array.isArray(value) ? value : [value]]);
  return {
    name: required(fields, "name", "string", `${at}user.`),
    groups: strings(fields, "groups", `${at}user.`),
    ...(uid === undefined ? {} : { uid }),
    extra: Object.fromEntries(lists) as Record<string, string[]>,
  };
}

function strings(fields: Fields, name: string, at: string): readonly string[] {
  const list = optional(fields, name, "list", at) ?? [];
  for (const item of list) {
    if (typeof item !== "string")
      throw new MalformedLine(`${at}${name} has ${short(item)}: it must be a string`);
  }
  return list as readonly string[];
}
