import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "@dray/api";
import type { ApiResponse, Transport, WatchEvent } from "@dray/client";
import type { Random } from "@dray/testing/random";
import type { Attempt, Change, Histories, Story, Version } from "./history.ts";

const path = "/api/v1/namespaces/default/configmaps";
/** Objects that all clients write, and how many each has for itself. */
const shared = ["shared-0", "shared-1"];
const own = 3;

type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> };

/** Many clients and watchers that record their requests and the answers, until they are stopped. */
export class Clients {
  readonly histories: Histories = { attempts: [], reads: [], watchers: [] };
  readonly #transport: Transport;
  readonly #random: Random;
  readonly #stopWriting = new AbortController();
  readonly #stopWatching = new AbortController();
  readonly #writers: Promise<void>[];
  readonly #watching: Promise<void>[];
  /** The newest revision of each watcher. */
  readonly #reached: number[] = [];

  constructor(transport: Transport, random: Random, writers: number, watchers: number) {
    this.#transport = transport;
    this.#random = random;
    this.#watching = Array.from({ length: watchers }, (_, index) => this.#watch(index));
    this.#writers = Array.from({ length: writers }, (_, index) => this.#write(`client-${index}`));
  }

  /** Resolves when every write has an outcome and every watcher has caught up. */
  async stop(): Promise<void> {
    this.#stopWriting.abort();
    await Promise.all(this.#writers);
    const last = Math.max(0, ...this.histories.attempts.map(({ revision }) => revision ?? 0));
    for (let tries = 0; this.#reached.some((revision) => revision < last); tries++) {
      if (tries > 600) throw new Error(`watchers are at ${this.#reached}, writers at ${last}`);
      await sleep(50);
    }
    this.#stopWatching.abort();
    await Promise.all(this.#watching);
  }

  async #write(client: string): Promise<void> {
    const names = [...Array.from({ length: own }, (_, index) => `${client}-${index}`), ...shared];
    const known = new Map<string, number>();
    const { signal } = this.#stopWriting;
    for (let count = 0; !signal.aborted; count++) {
      const name = this.#random.pick(names);
      // The state of a key that others write too is soon unknown.
      if (!known.has(name) || shared.includes(name)) {
        const found = await this.#read(client, name, known.get(name) ?? 0);
        if (found === undefined) continue;
        known.set(name, found.revision);
      }
      const attempt = await this.#attempt(client, name, known.get(name)!, `${client}/${count}`);
      this.histories.attempts.push(attempt);
      if (attempt.outcome === "done") known.set(name, attempt.revision ?? 0);
      else known.delete(name);
    }
  }

  async #attempt(client: string, name: string, expected: number, value: string): Promise<Attempt> {
    const verb = expected === 0 ? "create" : this.#random.chance(0.2) ? "delete" : "update";
    const attempt = { client, verb, name, expected, value: verb === "delete" ? "" : value } as const;
    const resourceVersion = String(expected);
    const metadata = { name, ...(verb === "update" && { resourceVersion }) };
    // Two fields, so that half a write would be seen.
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { value, twin: value } };
    const answer = await this.#send(
      verb === "create" ? "POST" : verb === "update" ? "PUT" : "DELETE",
      verb === "create" ? path : `${path}/${name}`,
      verb === "delete" ? { preconditions: { resourceVersion } } : object,
    );
    if (answer === undefined || answer.status >= 500) return { ...attempt, outcome: "unknown" };
    if (answer.status >= 400) return { ...attempt, outcome: "refused" };
    if (verb === "delete") return { ...attempt, outcome: "done" };
    return { ...attempt, outcome: "done", revision: versionOf(answer.object as ConfigMap).revision };
  }

  /** Returns the version of an object, revision 0 if it does not exist; undefined without an answer. */
  async #read(client: string, name: string, atLeast: number): Promise<Version | undefined> {
    const answer = await this.#send("GET", `${path}/${name}`);
    if (answer?.status === 404) {
      this.histories.reads.push({ client, name, atLeast });
      return { revision: 0, value: "" };
    }
    if (answer?.status !== 200) {
      await sleep(20);
      return undefined;
    }
    const found = versionOf(answer.object as ConfigMap);
    this.histories.reads.push({ client, name, atLeast, found });
    return found;
  }

  async #watch(index: number): Promise<void> {
    const stories: Story[] = [];
    this.histories.watchers.push(stories);
    this.#reached[index] = 0;
    const { signal } = this.#stopWatching;
    while (!signal.aborted) {
      const story = await this.#list();
      if (story === undefined) {
        await sleep(20);
        continue;
      }
      stories.push(story);
      this.#reached[index] = story.revision;
      while (!signal.aborted && (await this.#follow(story, index))) await sleep(10);
    }
  }

  async #list(): Promise<Story | undefined> {
    const answer = await this.#send("GET", path);
    if (answer?.status !== 200) return undefined;
    const { metadata, items } = answer.object as {
      metadata: { resourceVersion: string };
      items: ConfigMap[];
    };
    const mine = items.filter(({ metadata }) => isOurs(metadata.name));
    return {
      revision: Number(metadata.resourceVersion),
      list: new Map(mine.map((item) => [item.metadata.name, versionOf(item)])),
      changes: [],
    };
  }

  /** Goes on with a story; false where it cannot go on. */
  async #follow(story: Story, index: number): Promise<boolean> {
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${this.#reached[index]}`;
    try {
      const answer = await this.#request("GET", `${path}?${query}`, undefined, this.#stopWatching.signal);
      if (answer.type !== "watch") return answer.status !== 410;
      for await (const { event } of answer.events) {
        const { type, object } = event as WatchEvent<ConfigMap>;
        if (type === "ERROR") return (object as unknown as { code: number }).code !== 410;
        const { revision, value } = versionOf(object);
        if (type !== "BOOKMARK" && isOurs(object.metadata.name)) {
          const { name } = object.metadata;
          const change: Change =
            type === "DELETED" ? { type: "delete", name, revision } : { type: "put", name, revision, value };
          story.changes.push(change);
        }
        this.#reached[index] = revision;
      }
    } catch {
      // The server has gone.
    }
    return true;
  }

  async #send(
    method: string,
    url: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly object: object } | undefined> {
    try {
      const answer = await this.#request(method, url, body, AbortSignal.timeout(60_000));
      if (answer.type !== "body") return undefined;
      return { status: answer.status, object: answer.object ?? {} };
    } catch {
      await sleep(10);
      return undefined;
    }
  }

  #request(method: string, url: string, body: object | undefined, signal: AbortSignal): Promise<ApiResponse> {
    const headers = { accept: "application/json", "content-type": "application/json" };
    return this.#transport.request({ method, url, headers, signal, ...(body && { body }) });
  }
}

/** The ConfigMap of the authority is somebody else's. */
function isOurs(name: string): boolean {
  return /^(client|shared)-/.test(name);
}

function versionOf({ metadata, data }: ConfigMap): Version {
  const { value = "", twin = "" } = data ?? {};
  return {
    revision: Number(metadata.resourceVersion),
    value: value === twin ? value : `half a write: ${value}, ${twin}`,
  };
}
