import { existsSync } from "node:fs";
import { RpcError } from "@dray/rpc";
import { AuthConfig, type Image as CriImage, ImageSpec } from "@dray/rpc/cri/v1";
import { RuntimeError } from "../error.ts";
import type { Image, ImageCredentials, ImageService, PullOptions } from "../images.ts";
import { type CriConnection, requestTimeout } from "./connection.ts";
import { found, runtimeError } from "./errors.ts";

/** The images of a CRI runtime. */
export class CriImages implements ImageService {
  readonly pulls = true;
  readonly #connection: () => CriConnection;

  /** `connection` returns the connection, and throws without one. */
  constructor(connection: () => CriConnection) {
    this.#connection = connection;
  }

  async imageStatus(image: string): Promise<Image | undefined> {
    return this.#try("ImageInspectError", async ({ images }) => {
      const request = { image: ImageSpec.fromPartial({ image }) };
      const answer = await found(images.imageStatus(request, { timeout: requestTimeout }));
      return answer?.image === undefined ? undefined : observed(answer.image);
    });
  }

  async pullImage(
    image: string,
    credentials: readonly ImageCredentials[],
    { signal }: PullOptions = {},
  ): Promise<string> {
    const attempts = credentials.length === 0 ? [undefined] : credentials;
    const errors: RuntimeError[] = [];
    for (const each of attempts) {
      try {
        return await this.#pull(image, each, signal);
      } catch (error) {
        // Other credentials make neither a name valid nor an aborted pull continue.
        if ((error as RuntimeError).reason === "InvalidImageName" || signal?.aborted) throw error;
        errors.push(error as RuntimeError);
      }
    }
    const [first] = errors;
    if (errors.length === 1) throw first;
    throw new RuntimeError("ErrImagePull", errors.map(({ message }) => message).join("; "), {
      cause: first,
    });
  }

  #pull(image: string, credentials: ImageCredentials | undefined, signal?: AbortSignal): Promise<string> {
    return this.#try("ErrImagePull", async ({ images }) => {
      const spec = ImageSpec.fromPartial({ image });
      const auth = credentials === undefined ? undefined : AuthConfig.fromPartial({ ...credentials });
      // Without a timeout: the runtime aborts a pull that makes no progress.
      await images.pullImage({ image: spec, auth }, signal === undefined ? {} : { signal });
      const pulled = await this.imageStatus(image);
      if (pulled === undefined)
        throw new RuntimeError("ErrImagePull", `image ${image} is gone after its pull`);
      return pulled.ref;
    });
  }

  async listImages(): Promise<readonly Image[]> {
    return this.#try("ImageInspectError", async ({ images }) => {
      const answer = await images.listImages({ filter: undefined }, { timeout: requestTimeout });
      return answer.images.map(observed);
    });
  }

  /** Images of all containers of the runtime, including those of other agents and other programs. */
  async usedImages(): Promise<ReadonlySet<string>> {
    return this.#try("ImageInspectError", async ({ images, runtime }) => {
      const [{ containers }, all] = await Promise.all([
        runtime.listContainers({ filter: undefined }, { timeout: requestTimeout }),
        images.listImages({ filter: undefined }, { timeout: requestTimeout }),
      ]);
      // A container names its image by ID, digest or tag, depending on the runtime.
      const named = new Set(
        containers.flatMap(({ image, imageRef, imageId }) => [image?.image ?? "", imageRef, imageId]),
      );
      const used = all.images.filter(({ id, repoTags, repoDigests }) =>
        [id, ...repoTags, ...repoDigests].some((name) => named.has(name)),
      );
      return new Set(used.map((image) => observed(image).ref));
    });
  }

  async imageFolder(): Promise<string | undefined> {
    return this.#try("ImageInspectError", async ({ images }) => {
      const { imageFilesystems } = await images.imageFsInfo({}, { timeout: requestTimeout });
      const path = imageFilesystems[0]?.fsId?.mountpoint;
      // The path may lie in another mount name space.
      return path !== undefined && existsSync(path) ? path : undefined;
    });
  }

  async removeImage(ref: string): Promise<void> {
    await this.#try("ImageRemoveError", ({ images }) =>
      found(
        images.removeImage({ image: ImageSpec.fromPartial({ image: ref }) }, { timeout: requestTimeout }),
      ),
    );
  }

  async #try<T>(reason: string, run: (connection: CriConnection) => Promise<T>): Promise<T> {
    try {
      return await run(this.#connection());
    } catch (error) {
      throw runtimeError(isInvalidName(error) ? "InvalidImageName" : reason, error);
    }
  }
}

/** Runtimes have no error code for it: containerd's reference parser says so in words. */
function isInvalidName(error: unknown): boolean {
  return (
    RpcError.is(error, "InvalidArgument") ||
    (error instanceof RpcError &&
      /invalid reference format|failed to parse image reference/.test(error.detail))
  );
}

/**
 * The first digest identifies an image in statuses of containers; an image without one is identified by its
 * ID.
 */
function observed({ id, repoTags, repoDigests, size, uid, username, pinned }: CriImage): Image {
  const user = uid === undefined ? username : Number(uid.value);
  return {
    ref: repoDigests[0] ?? id,
    tags: repoTags,
    digests: repoDigests,
    sizeBytes: Number(size),
    ...(pinned && { pinned }),
    ...(user !== "" && { user }),
  };
}
