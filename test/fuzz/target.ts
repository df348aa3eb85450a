import type { ApiRequest, ApiResponse, Log } from "@dray/client";
import { memoryStore, type Store } from "@dray/store";
import { fastClock } from "@dray/testing/clock";
import { type ApiServer, createServer, type ServerOptions } from "../../packages/apiserver/src/index.ts";

/** A request that fuzzers make; the rest is the same for all. */
export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** An answer with its cost. */
export interface Answered {
  readonly status: number;
  /** Milliseconds of processor time for which no other request could be answered. */
  readonly milliseconds: number;
  /** Milliseconds of processor time of the whole request. */
  readonly total: number;
  readonly bytes: number;
}

/** Milliseconds after which an answer is taken never to come. */
const answerTimeout = 30_000;

/**
 * All texts with which kube-apiserver answers 500 too, by where they come from. Every other 500 is a fault of
 * ours.
 */
const upstreamFaults: readonly RegExp[] = [
  // Admission webhooks that cannot be asked (k8s.io/apiserver/pkg/admission/plugin/webhook).
  /^Internal error occurred: failed calling webhook /,
  // The ranges of a service (kubernetes/pkg/registry/core/service/storage/alloc.go).
  /^Internal error occurred: failed to allocate (?:requested HealthCheck NodePort|a nodePort|a serviceIP)/,
  /^duplicate nodePort: \{/,
  // A scale by a path that leads nowhere (k8s.io/apiextensions-apiserver/pkg/registry/customresource).
  /^Internal error occurred: the spec replicas field .* does not exist$/,
  // The kubelet, which is not there (kubernetes/pkg/kubelet/client, pkg/registry/core/pod).
  /^Internal error occurred: the kubelet answered with code /,
  /^no preferred addresses found; known addresses: /,
  /^error dialing backend: /,
  /^Get "https:\/\/.*\/containerLogs\//,
  // Refused by the registry of pods without a code (kubernetes/pkg/registry/core/pod).
  /^This pod has more than one PodDisruptionBudget, which the eviction subresource does not support\.$/,
  /^Non-matching dry-run options in request and content: /,
  /^target\.(?:kind: Unsupported value|name: Required value)/,
  // Versions of objects (k8s.io/apiserver/pkg/storage, of its versioner and of its preconditions), and etcd
  // itself.
  /^resourceVersion: Invalid value: .*: strconv\.ParseUint: parsing /s,
  /^strconv\.ParseUint: parsing .*: invalid syntax$/s,
  /^resourceVersion should not be set on objects to be created$/,
  /^etcdserver: request is too large$/,
  // An object of a schema that only its definition knows, asked for as a list (k8s.io/apimachinery,
  // unstructured).
  /^content is not a list$/,
  // Strategic merge patches that do not fit (k8s.io/apimachinery/pkg/util/strategicpatch).
  /^unknown patch type: /,
  /^merging an object in json but data type is not struct, instead is: /,
  /^unable to find api field in struct /,
  /^expected (?:a \[\]interface \{\}|a map\[string\]interface \{\}|slice or array type), but /,
  /^no elements in any of the given slices$/,
  /^The order in patch list:\n/,
  /^map: .* does not contain declared merge key: /s,
  /^cannot merge lists without merge key for /,
  /^merging lists cannot yet be specified in the patch$/,
  /^list element types are not identical: /,
  // Applied objects that have no such type (k8s.io/apimachinery/pkg/util/managedfields).
  /^failed to create typed patch object \(/,
  /^failed to decode managed fields: /,
];

/** A server of its own on a memory store, and every rule that must hold for each of its answers. */
export class Target {
  readonly #server: ApiServer;
  readonly #store: Store;
  readonly #logged: unknown[];

  private constructor(server: ApiServer, store: Store, logged: unknown[]) {
    this.#server = server;
    this.#store = store;
    this.#logged = logged;
  }

  /** By default on a fast clock, so that each timeout is seen. */
  static async start(options: Pick<ServerOptions, "clock" | "elapsed"> = {}): Promise<Target> {
    const { clock = fastClock(100) } = options;
    const logged: unknown[] = [];
    const store = memoryStore(clock);
    const server = await createServer({
      ...options,
      store,
      clock,
      log: logOf(logged),
      kubernetesVersion: "1.36",
      runtimeConfig: { "api/all": true },
      disabledAdmissionPlugins: ["ServiceAccount"],
    });
    return new Target(server, store, logged);
  }

  async close(): Promise<void> {
    await this.#server.close();
    await this.#store.close();
  }

  /** Sends a request. Throws an Error that says which rule its answer breaks, whatever time it took. */
  async ask(sent: Sent): Promise<Answered> {
    const gone = new AbortController();
    const request: ApiRequest = {
      ...sent,
      credential: {
        type: "user",
        user: { name: "admin", groups: ["system:masters", "system:authenticated"] },
      },
      signal: gone.signal,
    };
    const stretch = measureMaxStretch();
    const { response, bytes } = await soon(
      this.#server
        .handle(request)
        .then(async (response) => ({ response, bytes: await bytesOf(response, gone) })),
    ).finally(() => stretch.end());
    const { milliseconds, total } = stretch;
    const [first] = this.#logged.splice(0);
    if (first !== undefined) throw new Error(`the server has logged an error: ${String(first)}`);
    check(response, bytes);
    return { status: response.status, milliseconds, total, bytes: bytes.length };
  }
}

/**
 * The processor time of this thread from now until `end`, and the most between two turns of the event loop.
 */
function measureMaxStretch(): { readonly milliseconds: number; readonly total: number; end(): void } {
  let ended = false;
  let before = process.threadCpuUsage();
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    const used = (user + system) / 1000;
    measured.milliseconds = Math.max(measured.milliseconds, used);
    measured.total += used;
    before = process.threadCpuUsage();
  };
  const measured = {
    milliseconds: 0,
    total: 0,
    end() {
      look();
      ended = true;
    },
  };
  const turn = (): void => {
    if (ended) return;
    look();
    setImmediate(turn);
  };
  setImmediate(turn);
  return measured;
}

/** Rejects for what never comes. */
async function soon<T>(answer: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`no answer within ${answerTimeout / 1000} s`)),
    answerTimeout,
  );
  try {
    return await Promise.race([answer, promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function bytesOf(response: ApiResponse, gone: AbortController): Promise<Uint8Array> {
  if (response.type === "body") return response.bytes();
  // One event is enough of a watch; it would last.
  setTimeout(() => gone.abort(), 2);
  const chunks: Uint8Array[] = [];
  if (response.type === "bytes") for await (const chunk of response.chunks) chunks.push(chunk);
  else if (response.type === "watch") {
    for await (const frame of response.events) {
      chunks.push(frame.bytes());
      gone.abort();
    }
  }
  return Buffer.concat(chunks);
}

function check(response: ApiResponse, bytes: Uint8Array): void {
  if (response.status < 400) return;
  const type = String(response.headers["content-type"] ?? "");
  const text = Buffer.from(bytes).toString();
  // The same Status in YAML or protobuf; faults are logged whatever the form of their answer.
  if (!type.startsWith("application/json")) return;
  const status = JSON.parse(text) as {
    kind?: string;
    status?: string;
    code?: number;
    message?: string;
    reason?: string;
  };
  const wellFormed =
    status.kind === "Status" &&
    status.status === "Failure" &&
    status.code === response.status &&
    typeof status.message === "string" &&
    status.message !== "";
  if (!wellFormed) throw new Error(`no well-formed Status for ${response.status}: ${text.slice(0, 300)}`);
  if (response.status !== 500 || upstreamFaults.some((known) => known.test(status.message!))) return;
  throw new Error(`500 where kube-apiserver has none: ${status.message}`);
}

function logOf(errors: unknown[]): Log {
  const silent = (): void => {};
  const log = {
    debug: silent,
    info: silent,
    warn: silent,
    error: (fields: unknown, text: unknown) => {
      const { error } = (typeof fields === "object" && fields !== null ? fields : {}) as { error?: unknown };
      errors.push(error instanceof Error ? error.stack : `${String(text)} ${JSON.stringify(fields)}`);
    },
    child: () => log,
  };
  return log as unknown as Log;
}
