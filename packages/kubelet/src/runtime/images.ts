/** An image that the runtime has. */
export interface Image {
  /** What `ContainerConfig.imageRef` and container statuses say of it. */
  readonly ref: string;
  readonly tags: readonly string[];
  readonly digests: readonly string[];
  readonly sizeBytes: number;
  /** Never removed to make room. */
  readonly pinned?: boolean;
  /** The user of the image's program, for `runAsNonRoot`: its number, or its name where it has one. */
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

/** Images. Methods reject with `RuntimeError` (`InvalidImageName`, `ErrImagePull`, `ErrImageNeverPull`). */
export interface ImageService {
  /** True where images come from registries; false where only those count that are there already. */
  readonly pulls: boolean;
  /** The image if it is there; `hasCommand` where the container brings its own program. */
  imageStatus(image: string, hasCommand: boolean): Promise<Image | undefined>;
  /** Fetches the image, trying the credentials one after the other; answers its reference. */
  pullImage(image: string, credentials: readonly ImageCredentials[], signal?: AbortSignal): Promise<string>;
  listImages(): Promise<readonly Image[]>;
  /** By reference: those that a container of anybody uses, whether or not it runs. */
  usedImages(): Promise<ReadonlySet<string>>;
  /** The folder of the machine that images are kept in; undefined where none are. */
  imageFolder(): Promise<string | undefined>;
  removeImage(ref: string): Promise<void>;
}
