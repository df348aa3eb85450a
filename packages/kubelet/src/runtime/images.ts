import type { Socket } from "node:net";

/** An image that the runtime has. */
export interface Image {
  /** Reference of the image in `ContainerConfig.imageRef` and container statuses. */
  readonly ref: string;
  readonly tags: readonly string[];
  readonly digests: readonly string[];
  readonly sizeBytes: number;
  /** Never removed to make room. */
  readonly pinned?: boolean;
  /** User of the image's program, for `runAsNonRoot`: its number, or its name. */
  readonly user?: number | string;
}

/** Credentials for a registry (CRI `AuthConfig`). */
export interface ImageCredentials {
  readonly username?: string;
  readonly password?: string;
  /** `username:password` in base64. */
  readonly auth?: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
}

export interface PullOptions {
  readonly signal?: AbortSignal | undefined;
  /** Network of the node that pulls: a registry at a loopback address may be there, as on any node. */
  readonly nodeNetwork?: { connect(host: string, port: number): Promise<Socket> } | undefined;
}

/** Images. Methods reject with `RuntimeError` (`InvalidImageName`, `ErrImagePull`, `ErrImageNeverPull`). */
export interface ImageService {
  /** True if images are pulled from registries; false if only existing ones can be used. */
  readonly pulls: boolean;
  /** Returns the image if it exists; `hasCommand` if the container names its own program. */
  imageStatus(image: string, hasCommand: boolean): Promise<Image | undefined>;
  /** Pulls the image, trying the credentials in order. Resolves with its reference. */
  pullImage(image: string, credentials: readonly ImageCredentials[], options?: PullOptions): Promise<string>;
  listImages(): Promise<readonly Image[]>;
  /** References of images that any container uses, whether or not it runs. */
  usedImages(): Promise<ReadonlySet<string>>;
  /** Folder of the machine with the images; undefined without one. */
  imageFolder(): Promise<string | undefined>;
  removeImage(ref: string): Promise<void>;
}
