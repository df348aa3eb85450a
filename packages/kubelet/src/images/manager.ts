import type { Pod } from "@dray/api/core/v1";
import { type Client, type Clock, ItemBackOff } from "@dray/client";
import { RuntimeError } from "../runtime/error.ts";
import type { Image, ImageService, PullOptions } from "../runtime/images.ts";
import type { StartableContainer } from "../types/containers.ts";
import { credentialsFor, pullSecretsOf } from "./pull-secrets.ts";

/** Initial and maximum delay between attempts to pull an image, in milliseconds, as upstream. */
const pullBackOff = [10_000, 300_000] as const;

export interface ImagesOptions {
  readonly client: Client;
  readonly images: ImageService;
  readonly nodeNetwork?: PullOptions["nodeNetwork"];
  readonly clock: Clock;
  readonly signal: AbortSignal;
  event(pod: Pod, type: "Normal" | "Warning", reason: string, message: string): void;
}

/** The image of a container or of a volume. */
export type WantedImage = Pick<StartableContainer, "image" | "command" | "imagePullPolicy">;

/**
 * Pulls the image of a container by its pull policy.
 *
 * Upstream: pkg/kubelet/images/image_manager.go, EnsureImageExists.
 */
export class ImageManager {
  readonly #options: ImagesOptions;
  readonly #backOff: ItemBackOff;
  /** Error of the last pull, by pod and image. */
  readonly #failures = new Map<string, string>();

  constructor(options: ImagesOptions) {
    this.#options = options;
    this.#backOff = new ItemBackOff(options.clock, ...pullBackOff);
  }

  /**
   * Returns the image. Rejects with RuntimeError: InvalidImageName, ErrImageNeverPull, ErrImagePull,
   * ImagePullBackOff.
   */
  async ensure(pod: Pod, { image = "", command = [], imagePullPolicy }: WantedImage): Promise<Image> {
    const { client, images, event, signal, clock, nodeNetwork } = this.#options;
    const hasCommand = command.length > 0;
    const there = await images.imageStatus(image, hasCommand);
    if (!images.pulls) {
      // A runtime without pulls rejects with the reason.
      if (there === undefined) await images.pullImage(image, [], { signal });
      else return there;
    }
    const always = imagePullPolicy === "Always";
    if (there !== undefined && !always) {
      event(pod, "Normal", "Pulled", `Container image "${image}" already present on machine`);
      return there;
    }
    if (imagePullPolicy === "Never") {
      const message = `Container image "${image}" is not present with pull policy of Never`;
      event(pod, "Warning", "ErrImageNeverPull", message);
      throw new RuntimeError("ErrImageNeverPull", message);
    }
    const key = `${pod.metadata.uid}/${image}`;
    if (this.#backOff.left(key) > 0) {
      const message = `Back-off pulling image "${image}"`;
      event(pod, "Normal", "BackOff", message);
      const failure = this.#failures.get(key);
      throw new RuntimeError("ImagePullBackOff", failure === undefined ? message : `${message}: ${failure}`);
    }
    event(pod, "Normal", "Pulling", `Pulling image "${image}"`);
    const began = clock.now();
    const { secrets, missing } = await pullSecretsOf(pod, client);
    try {
      await images.pullImage(image, credentialsFor(image, secrets), { signal, nodeNetwork });
      const pulled = await images.imageStatus(image, hasCommand);
      if (pulled === undefined) throw new Error("it is not there after it was pulled");
      const took = `${((clock.now() - began) / 1000).toFixed(3)}s`;
      event(
        pod,
        "Normal",
        "Pulled",
        `Successfully pulled image "${image}" in ${took} (${took} including waiting). Image size: ${pulled.sizeBytes} bytes.`,
      );
      this.#backOff.forget(key);
      this.#failures.delete(key);
      return pulled;
    } catch (error) {
      this.#backOff.next(key);
      const { message } = error as Error;
      event(pod, "Warning", "Failed", `Failed to pull image "${image}": ${message}`);
      if (missing.length > 0)
        event(
          pod,
          "Warning",
          "FailedToRetrieveImagePullSecret",
          `Unable to retrieve some image pull secrets (${missing.join(", ")}); attempting to pull the image may not succeed.`,
        );
      const refusal =
        error instanceof RuntimeError ? error : new RuntimeError("ErrImagePull", message, { cause: error });
      this.#failures.set(key, `${refusal.reason}: ${message}`);
      throw refusal;
    }
  }

  /** Forgets the failures of a pod that is gone. */
  forget(podUid: string): void {
    this.#backOff.forgetAll(`${podUid}/`);
    for (const key of this.#failures.keys()) if (key.startsWith(`${podUid}/`)) this.#failures.delete(key);
  }
}
