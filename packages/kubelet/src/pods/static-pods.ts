import { createHash } from "node:crypto";
import { type FSWatcher, readdirSync, watch } from "node:fs";
import { join } from "node:path";
import { type Features, StatusError } from "@dray/api";
import { decodeAs } from "@dray/api/codec";
import { type Node, Pod } from "@dray/api/core/v1";
import { setDefaults } from "@dray/api/defaults";
import { validateCreate } from "@dray/api/validation";
import { parseYAML } from "@dray/api/yaml";
import { type Client, type Clock, type Log, timeText } from "@dray/client";
import { makeFolderSync, readRegularFileSync } from "@dray/files";
import { endedWithNode } from "../types/pod-end.ts";
import {
  hashAnnotation,
  isMirrorPod,
  mirrorAnnotation,
  seenAnnotation,
  sourceAnnotation,
} from "../types/static-pod.ts";
import { apiReferenceOf } from "../volumes/plugins.ts";

/** Interval in milliseconds at which the folder is read without a change. Upstream: fileCheckFrequency. */
const checkInterval = 20_000;
/** Milliseconds, since a manifest may be written in several steps. */
const debounce = 100;
const mirrorRetry = 5_000;
const maxManifestBytes = 10 << 20;

export interface StaticPodsOptions {
  /** Folder of manifests, one pod in each file. */
  readonly directory: string;
  readonly nodeName: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly features: Features;
  node(): Node;
  /** Pods of this node in the API. */
  apiPods(): readonly Pod[];
  /** Called when a pod was added or removed. */
  changed(uid: string): void;
}

/**
 * Pods of manifests in a folder of the node, and their mirrors in the API. A changed manifest is another pod,
 * by its UID.
 *
 * Upstream: pkg/kubelet/config/file.go, common.go; pkg/kubelet/pod/mirror_client.go.
 */
export class StaticPods {
  readonly #options: StaticPodsOptions;
  /** By UID. */
  #pods: ReadonlyMap<string, Pod> = new Map();
  /** Problem of each file that was last logged. */
  readonly #problems = new Map<string, string>();
  /** UIDs of mirrors whose pods were synced. */
  #mirrors: ReadonlySet<string> = new Set();
  #watcher: FSWatcher | undefined;
  #cancelCheck: (() => void) | undefined;
  #cancelLook: (() => void) | undefined;
  #mirroring: Promise<void> | undefined;
  #mirrorAgain = false;
  #stopped = false;

  constructor(options: StaticPodsOptions) {
    this.#options = options;
  }

  /** Reads the manifests, and follows the folder. */
  start(): void {
    const { directory, log } = this.#options;
    makeFolderSync(directory, 0o755);
    this.#watcher = watch(directory, { persistent: false }, () => {
      this.#cancelLook ??= this.#options.clock.after(debounce, () => {
        this.#cancelLook = undefined;
        this.#look();
      });
    });
    this.#watcher.on("error", (err) => log.warn({ err, path: directory }, "cannot watch static pods"));
    this.#check();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#watcher?.close();
    this.#cancelCheck?.();
    this.#cancelLook?.();
    await this.#mirroring;
  }

  /** Returns a pod with the status of its mirror, unless it ended with its node: then it runs again. */
  get(uid: string): Pod | undefined {
    const pod = this.#pods.get(uid);
    const mirror = pod && this.mirrorOf(pod);
    if (pod === undefined || mirror?.status === undefined || endedWithNode(mirror)) return pod;
    return { ...pod, status: mirror.status };
  }

  list(): Pod[] {
    return [...this.#pods.keys()].flatMap((uid) => this.get(uid) ?? []);
  }

  /** Returns the mirror of this version of a pod. */
  mirrorOf(pod: Pod): Pod | undefined {
    const mirror = this.#named(pod);
    const hash = mirror?.metadata.annotations?.[mirrorAnnotation];
    return hash === pod.metadata.annotations?.[hashAnnotation] ? mirror : undefined;
  }

  #named({ metadata }: Pod): Pod | undefined {
    return this.#options
      .apiPods()
      .find(
        (pod) =>
          isMirrorPod(pod) &&
          pod.metadata.name === metadata.name &&
          pod.metadata.namespace === metadata.namespace,
      );
  }

  #check(): void {
    this.#look();
    this.#cancelCheck = this.#options.clock.after(checkInterval, () => this.#check());
  }

  #look(): void {
    if (this.#stopped) return;
    const { directory, changed, log } = this.#options;
    const found = new Map<string, Pod>();
    let names: string[];
    try {
      names = readdirSync(directory)
        .filter((name) => !name.startsWith("."))
        .sort();
    } catch (error) {
      log.warn({ err: error, path: directory }, "cannot read static pods");
      return;
    }
    for (const name of names) {
      const path = join(directory, name);
      try {
        const pod = this.#read(path);
        found.set(pod.metadata.uid, this.#pods.get(pod.metadata.uid) ?? pod);
        this.#problems.delete(path);
      } catch (error) {
        const { message } = error as Error;
        if (this.#problems.get(path) === message) continue;
        this.#problems.set(path, message);
        log.error({ path, problem: message }, "a static pod is not run: its manifest is wrong");
      }
    }
    const before = this.#pods;
    this.#pods = found;
    for (const uid of before.keys()) if (!found.has(uid)) changed(uid);
    for (const uid of found.keys()) if (!before.has(uid)) changed(uid);
    this.mirror();
  }

  /** Throws an Error that says what is wrong with a manifest. */
  #read(path: string): Pod {
    const { nodeName, features, clock } = this.#options;
    const content = readRegularFileSync(path, { maxBytes: maxManifestBytes });
    const { value } = parseYAML(content.toString("utf8"));
    const { apiVersion, kind } = (value ?? {}) as { apiVersion?: unknown; kind?: unknown };
    if (apiVersion !== "v1" || kind !== "Pod")
      throw new Error(
        `it holds ${JSON.stringify(apiVersion)} ${JSON.stringify(kind)}, where a "v1" "Pod" is wanted`,
      );
    const { object, provenance, problems } = decodeAs(value, "core/v1.Pod", features.version);
    if (problems.length > 0) throw new Error(problems.join(", "));
    // decodeAs has checked it as a Pod; the name may be missing.
    const given = object as unknown as Pod;
    if (!given.metadata?.name) throw new Error("invalid pod: name is needed for the pod");
    const hash = createHash("sha256")
      .update(content)
      .update(`\0${nodeName}\0${path}`)
      .digest("hex")
      .slice(0, 32);
    const { metadata, spec } = given;
    const pod: Pod = {
      ...given,
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        ...metadata,
        name: `${metadata.name}-${nodeName.toLowerCase()}`,
        namespace: metadata.namespace || "default",
        uid: metadata.uid || hash,
        creationTimestamp: timeText(clock.now()),
        annotations: {
          ...metadata.annotations,
          [hashAnnotation]: hash,
          [sourceAnnotation]: "file",
          [seenAnnotation]: timeText(clock.now()),
        },
      },
      spec: {
        ...spec,
        nodeName,
        tolerations: [...(spec?.tolerations ?? []), { operator: "Exists", effect: "NoExecute" }],
      },
      status: { phase: "Pending" },
    };
    const reference = apiReference(pod);
    if (reference !== undefined) throw new Error(`static pods may not reference ${reference}`);
    const podKind = { group: "", version: "v1", kind: "Pod" };
    const now = timeText(clock.now());
    setDefaults(podKind, pod as never, { now, release: features.version, provenance });
    const compileSelector = () =>
      ({ ok: false, error: "static pods have no selectors", type: "RuleInvalid" }) as const;
    const context = { features, provenance, compileSelector };
    const errors = validateCreate(podKind, pod as never, context);
    if (errors.length > 0)
      throw new Error(`invalid pod: ${errors.map((error) => JSON.stringify(error)).join(", ")}`);
    return pod;
  }

  /** Creates and deletes mirrors; called when pods of the node have changed in the API. */
  mirror(): void {
    this.#mirrorAgain = true;
    this.#mirroring ??= this.#mirrorAll().finally(() => {
      this.#mirroring = undefined;
    });
  }

  async #mirrorAll(): Promise<void> {
    const { clock, log } = this.#options;
    while (this.#mirrorAgain && !this.#stopped) {
      this.#mirrorAgain = false;
      try {
        const wanted = new Set([...this.#pods.values()].map((pod) => this.mirrorOf(pod)?.metadata.uid));
        for (const pod of this.#options.apiPods())
          if (isMirrorPod(pod) && !wanted.has(pod.metadata.uid)) await this.#delete(pod);
        const mirrors = new Set<string>();
        for (const [uid, pod] of this.#pods) {
          const mirror = this.mirrorOf(pod);
          if (mirror === undefined) await this.#create(pod);
          else if (mirror.metadata.deletionTimestamp !== undefined) await this.#delete(mirror);
          else {
            mirrors.add(mirror.metadata.uid);
            // The status has to be written to the new mirror.
            if (!this.#mirrors.has(mirror.metadata.uid)) this.#options.changed(uid);
          }
        }
        this.#mirrors = mirrors;
      } catch (error) {
        log.warn({ err: error }, "cannot mirror static pods");
        clock.after(mirrorRetry, () => {
          if (!this.#stopped) this.mirror();
        });
        return;
      }
    }
  }

  async #create(pod: Pod): Promise<void> {
    const { client, node } = this.#options;
    const { name, uid } = node().metadata;
    const { uid: _, creationTimestamp: __, resourceVersion: ___, ...metadata } = pod.metadata;
    const annotations = {
      ...metadata.annotations,
      [mirrorAnnotation]: metadata.annotations?.[hashAnnotation] ?? "",
    };
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid, controller: true }];
    try {
      await client
        .resource(Pod)
        .create({ metadata: { ...metadata, annotations, ownerReferences }, spec: pod.spec });
    } catch (error) {
      // An earlier mirror is being deleted, and the informer will report its end.
      if (!StatusError.is(error, "AlreadyExists")) throw error;
    }
  }

  async #delete({ metadata }: Pod): Promise<void> {
    const { namespace, name, uid } = metadata;
    try {
      await this.#options.client
        .resource(Pod)
        .delete({ namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }
}

/**
 * The kind of object that a pod refers to, which a static pod must not. Upstream: pkg/api/pod/util.go,
 * HasAPIObjectReference.
 */
function apiReference({ spec }: Pod): string | undefined {
  if (spec.serviceAccountName) return "serviceaccounts";
  if (spec.imagePullSecrets?.length) return "secrets";
  if (spec.resourceClaims?.length) return "resourceclaims";
  for (const volume of spec.volumes ?? []) {
    const reference = apiReferenceOf(volume);
    if (reference !== undefined) return reference;
  }
  const all = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  for (const { env = [], envFrom = [] } of all) {
    if (envFrom.some(({ configMapRef }) => configMapRef)) return "configmaps";
    if (envFrom.some(({ secretRef }) => secretRef)) return "secrets";
    if (env.some(({ valueFrom }) => valueFrom?.configMapKeyRef)) return "configmaps";
    if (env.some(({ valueFrom }) => valueFrom?.secretKeyRef)) return "secrets";
  }
  return undefined;
}
