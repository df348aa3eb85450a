import type { Features } from "@dray/api";
import { type Node, Pod } from "@dray/api/core/v1";
import type { Client, Clock, Informer, Log } from "@dray/client";
import { isMirrorPod, isStaticPod } from "../types/static-pod.ts";
import { StaticPods } from "./static-pods.ts";

export interface PodManagerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly features: Features;
  readonly nodeName: string;
  /** Folder of the manifests of static pods. */
  readonly staticPodPath: string;
  node(): Node;
  /** Called when a pod was added or has changed. */
  changed(uid: string): void;
  /** Called when a pod was removed, or replaced by another of its name. */
  removed(uid: string): void;
}

/**
 * The pods of the node: those that are bound to it in the API, and static ones.
 *
 * Upstream: pkg/kubelet/pod/pod_manager.go.
 */
export class PodManager {
  readonly #options: PodManagerOptions;
  readonly #informer: Informer<Pod>;
  readonly #statics: StaticPods;

  constructor(options: PodManagerOptions) {
    const { client, nodeName, staticPodPath } = options;
    this.#options = options;
    this.#informer = client.informer(Pod, {
      fieldSelector: `spec.nodeName=${nodeName}`,
      indexes: { uid: (pod) => [pod.metadata.uid] },
    });
    this.#statics = new StaticPods({
      ...options,
      directory: staticPodPath,
      apiPods: () => this.#informer.list(),
    });
  }

  /** The newest object of a pod that runs here. */
  get(uid: string): Pod | undefined {
    const [pod] = this.#informer.byIndex("uid", uid);
    return this.#statics.get(uid) ?? (pod === undefined || isMirrorPod(pod) ? undefined : pod);
  }

  /** All pods that run here, without mirror pods. */
  list(): Pod[] {
    return [...this.#informer.list().filter((pod) => !isMirrorPod(pod)), ...this.#statics.list()];
  }

  /** The object in the API that shows a pod: the pod itself, or the mirror of a static one if it exists. */
  apiPod(pod: Pod): Pod | undefined {
    return isStaticPod(pod) ? this.#statics.mirrorOf(pod) : pod;
  }

  /** Reports changes from now on; pods are listed by `start`. */
  follow(): void {
    const { changed, removed } = this.#options;
    this.#informer.handle({
      add: (pod) => {
        if (isMirrorPod(pod)) this.#statics.mirror();
        else changed(pod.metadata.uid);
      },
      update: (pod, old) => {
        if (isMirrorPod(pod)) {
          this.#statics.mirror();
          return;
        }
        changed(pod.metadata.uid);
        if (old.metadata.uid !== pod.metadata.uid) removed(old.metadata.uid);
      },
      delete: (pod) => {
        if (isMirrorPod(pod)) this.#statics.mirror();
        else removed(pod.metadata.uid);
      },
    });
  }

  /** Resolves when all pods are known. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#informer.start(signal);
    this.#statics.start();
  }

  async stop(): Promise<void> {
    await this.#statics.stop();
  }
}
