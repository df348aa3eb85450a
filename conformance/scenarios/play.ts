import { parseJSON } from "@dray/api/codec";
import { type Difference, json } from "../format.ts";
import type { Connection, RawAnswer } from "./connection.ts";
import type { Answer, Body, Scenario, Step, User } from "./scenario.ts";
import { fieldAt, isFields, picked, Tokens, without } from "./tokens.ts";

/** Milliseconds for which a step with `poll` is repeated. */
const pollLimit = 15_000;
const pollInterval = 100;

interface Raw extends RawAnswer {
  /** Parsed: JSON, a list of events, or text. */
  readonly value: unknown;
}

/** Plays a scenario on a server and compares every answer; then takes away what it has made. */
export async function play(scenario: Scenario, connection: Connection): Promise<Difference[]> {
  const player = new Player(scenario, connection);
  try {
    return await player.run();
  } finally {
    await player.cleanUp();
  }
}

/**
 * Plays a scenario on a server and returns its answers, in the form of `expect`; then takes away what it has
 * made.
 */
export async function record(scenario: Scenario, connection: Connection): Promise<Answer[]> {
  const player = new Player(scenario, connection);
  try {
    return await player.record();
  } finally {
    await player.cleanUp();
  }
}

class Player {
  readonly #scenario: Scenario;
  readonly #connection: Connection;
  readonly #tokens: Tokens;
  readonly #answers = new Map<string, Raw>();
  /** Paths of objects, in the order in which they came to be. */
  readonly #created: string[] = [];

  constructor(scenario: Scenario, connection: Connection) {
    this.#scenario = scenario;
    this.#connection = connection;
    this.#tokens = new Tokens(scenario.written, Date.now());
  }

  async run(): Promise<Difference[]> {
    const differences: Difference[] = [];
    for (const [i, step] of this.#scenario.steps.entries()) {
      const where = `step ${i + 1}${step.id === undefined ? "" : ` (${step.id})`}: ${step.method} ${step.path}`;
      const answer = await this.#play(step);
      differences.push(...this.#compare(step, answer).map((difference) => ({ ...difference, where })));
    }
    return differences;
  }

  async record(): Promise<Answer[]> {
    const answers: Answer[] = [];
    for (const step of this.#scenario.steps) {
      const answer = await this.#play(step);
      const contentType = answer.headers["content-type"];
      answers.push({
        status: answer.status,
        ...(typeof contentType === "string" ? { contentType } : {}),
        body: this.#shown(step, answer.value),
        warnings: warnings(answer).map((text) => this.#tokens.walk(text) as string),
        headers: Object.fromEntries(
          step.expectHeaders.map((name) => [name, answer.headers[name.toLowerCase()] ?? null]),
        ),
      });
    }
    return answers;
  }

  async #play(step: Step): Promise<Raw> {
    const answer = await this.#ask(step);
    if (step.id !== undefined) this.#answers.set(step.id, answer);
    this.#note(step, answer);
    return answer;
  }

  async #ask(step: Step): Promise<Raw> {
    if (step.delay > 0) await sleep(step.delay * 1000);
    const until = Date.now() + pollLimit;
    for (;;) {
      const answer = await this.#send(step);
      if (step.poll === undefined || answer.status === step.poll || Date.now() > until) return answer;
      await sleep(pollInterval);
    }
  }

  async #send(step: Step): Promise<Raw> {
    const body = this.#body(step.body);
    const headers: Record<string, string | readonly string[]> = { "user-agent": "vectors/1" };
    const contentType = step.contentType ?? (body === undefined ? "-" : "application/json");
    if (contentType !== "-") headers["content-type"] = contentType;
    const accept = step.accept ?? "application/json";
    if (accept !== "-") headers["accept"] = accept;
    if (step.user !== undefined && step.user !== "none")
      Object.assign(headers, this.#impersonation(step.user));
    for (const [name, value] of Object.entries(step.headers)) headers[name.toLowerCase()] = this.#fill(value);
    const raw = await this.#connection.send(
      { method: step.method, path: this.#fill(step.path), headers, body },
      {
        anonymous: step.user === "none" || headers["authorization"] !== undefined,
        ...(step.watchSeconds === undefined ? {} : { seconds: step.watchSeconds }),
      },
    );
    return { ...raw, value: parseBody(raw, step.watchSeconds !== undefined && raw.status === 200) };
  }

  #impersonation(user: User): Record<string, string | readonly string[]> {
    const headers: Record<string, string | readonly string[]> = { "impersonate-user": this.#fill(user.name) };
    if (user.groups.length > 0) headers["impersonate-group"] = user.groups.map((group) => this.#fill(group));
    if (user.uid !== undefined) headers["impersonate-uid"] = this.#fill(user.uid);
    for (const [key, values] of Object.entries(user.extra)) {
      headers[`impersonate-extra-${encodeURIComponent(key)}`] = values.map((value) => this.#fill(value));
    }
    return headers;
  }

  #body(body: Body): Buffer | undefined {
    switch (body.type) {
      case "none":
        return undefined;
      case "json":
        return Buffer.from(written(this.#filled(body.value)));
      case "text":
        return Buffer.from(this.#fill(body.text));
      case "bytes":
        return body.bytes;
      case "big":
        return Buffer.from(body.prefix + body.fill.repeat(body.count) + body.suffix);
    }
  }

  #filled(value: unknown): unknown {
    if (typeof value === "string") return this.#fill(value);
    if (Array.isArray(value)) return value.map((item) => this.#filled(item));
    if (!isFields(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [this.#fill(key), this.#filled(item)]),
    );
  }

  /** Puts fields of earlier answers in place of `${id.path}` and `${id@header}`. */
  #fill(text: string): string {
    return text.replace(/\$\{([^}.@]+)([.@])([^}]*)\}/g, (_, id: string, kind: string, path: string) => {
      const answer = this.#answers.get(id);
      const found =
        kind === "@" ? answer?.headers[path.toLowerCase()] : fieldAt(answer?.value, path.split("."));
      return found === undefined || found === null ? "" : String(found);
    });
  }

  /** Learns from an answer what later ones are compared by, and what is to be taken away. */
  #note(step: Step, answer: Raw): void {
    const { value } = answer;
    const sent = step.body.type === "json" && isFields(step.body.value) ? step.body.value : {};
    const base = fieldAt(sent, ["metadata", "generateName"]);
    const name = fieldAt(value, ["metadata", "name"]);
    if (
      typeof base === "string" &&
      fieldAt(sent, ["metadata", "name"]) === undefined &&
      typeof name === "string"
    ) {
      this.#tokens.learnName(base, name);
    }
    this.#tokens.learnColumns(value);
    if (Array.isArray(value))
      for (const event of value) this.#tokens.learnColumns(fieldAt(event, ["object"]));
    if (answer.status !== 201 || step.path.includes("dryRun=")) return;
    const path = this.#fill(step.path).split("?")[0]!;
    if (step.method !== "POST") this.#created.push(path);
    else if (typeof name === "string") this.#created.push(`${path}/${encodeURIComponent(name)}`);
  }

  #compare(step: Step, answer: Raw): Difference[] {
    const { expect } = step;
    const differences: Difference[] = [];
    const differ = (kind: string, expected: unknown, actual: unknown): void => {
      const [wanted, got] = [json(expected), json(actual)];
      if (wanted !== got) differences.push({ kind, expected: wanted, actual: got });
    };
    if (expect.body !== undefined) {
      const body = this.#shown(step, answer.value);
      differ("body", expect.body, body);
    }
    if (answer.status !== expect.status) {
      differences.unshift({
        kind: "status",
        expected: String(expect.status),
        actual: `${answer.status} ${answer.body.toString("utf8", 0, 500)}`,
      });
    }
    if (expect.contentType !== undefined)
      differ("content type", expect.contentType, answer.headers["content-type"] ?? "");
    differ(
      "warnings",
      expect.warnings,
      warnings(answer).map((text) => this.#tokens.walk(text)),
    );
    for (const name of step.expectHeaders) {
      differ(`header ${name}`, expect.headers[name] ?? null, answer.headers[name.toLowerCase()] ?? null);
    }
    return differences;
  }

  #shown(step: Step, value: unknown): unknown {
    const dropped = new Set([...step.drop, ...(step.managedFields ? [] : ["managedFields"])]);
    const rest = without(value, dropped);
    if (step.pick === undefined) return this.#tokens.walk(rest);
    const part = picked(rest, step.pick);
    return step.pick.at(-1) === "cells" && Array.isArray(part)
      ? this.#tokens.cells(part)
      : this.#tokens.walk(part);
  }

  /** Newest first; namespaces have nobody who would finalize them. */
  async cleanUp(): Promise<void> {
    const isNamespace = (path: string): boolean => /^\/api\/v1\/namespaces\/[^/]+$/.test(path);
    // Objects that were created with a protobuf answer are known only from `cleanup`.
    const paths = [...new Set([...this.#created, ...this.#scenario.cleanup])].reverse();
    for (const path of [...paths.filter((path) => !isNamespace(path)), ...paths.filter(isNamespace)]) {
      await this.#remove(path, isNamespace(path));
    }
  }

  async #remove(path: string, namespace: boolean): Promise<void> {
    const send = (method: string, body?: string, type = "application/json"): Promise<RawAnswer> =>
      this.#connection.send(
        {
          method,
          path: method === "DELETE" ? `${path}?gracePeriodSeconds=0` : path,
          headers: { "content-type": type, accept: "application/json" },
          body: body === undefined ? undefined : Buffer.from(body),
        },
        { anonymous: false },
      );
    const deleted = await send("DELETE");
    if (deleted.status === 404) return;
    const left = await send("GET");
    if (left.status !== 200) return;
    if (!namespace) {
      await send("PATCH", '{"metadata":{"finalizers":null}}', "application/merge-patch+json");
      return;
    }
    const object = JSON.parse(left.body.toString()) as { spec: object };
    const body = JSON.stringify({ ...object, spec: { finalizers: [] } });
    await this.#connection.send(
      {
        method: "PUT",
        path: `${path}/finalize`,
        headers: { "content-type": "application/json", accept: "application/json" },
        body: Buffer.from(body),
      },
      { anonymous: false },
    );
  }
}

function parseBody({ body }: RawAnswer, stream: boolean): unknown {
  const text = body.toString();
  if (text === "") return stream ? [] : "";
  try {
    if (!stream) return parseJSON(text);
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => parseJSON(line));
  } catch {
    try {
      return parseJSON(text);
    } catch {
      return text;
    }
  }
}

/** JSON as the recorder has sent it: in its order of keys, with blanks, which fields of raw JSON keep. */
function written(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  if (!isFields(value)) return typeof value === "bigint" ? String(value) : JSON.stringify(value);
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${written(item)}`);
  return `{${entries.join(", ")}}`;
}

function warnings({ headers }: RawAnswer): string[] {
  const given = headers["warning"];
  if (given === undefined) return [];
  // Node joins headers of one name with a comma.
  const text = typeof given === "string" ? given : given.join(", ");
  return [...text.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map(([, quoted]) =>
    quoted!.replace(/\\(.)/g, "$1"),
  );
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
