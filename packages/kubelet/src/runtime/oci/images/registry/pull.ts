import { hostsOf } from "../hosts.ts";
import { choosePlatform, type Descriptor, ManifestError, ownPlatform, parseManifest } from "../manifest.ts";
import { formatReference, type Reference } from "../reference.ts";
import type { ContentStore, Lease } from "../store.ts";
import { RegistryError } from "./error.ts";
import { type RegistryAccess, Session } from "./session.ts";

/**
 * Pulls an image into the store, for this machine's platform (OCI distribution specification), from the first
 * of the registry's hosts that has it. Returns the digest of the manifest, and the one of the reference,
 * which may be an index. Throws RegistryError, RegistryHostsError, ManifestError or ContentError.
 */
export async function pullImage(
  reference: Reference,
  access: RegistryAccess,
  store: ContentStore,
  lease: Lease,
): Promise<{ readonly manifest: string; readonly target: string }> {
  const hosts = await hostsOf(reference.domain, access.options);
  const session = new Sessions(
    reference,
    hosts.map((host) => new Session({ reference, host, ...access })),
    access.signal,
  );
  const target = await session.manifest(store, lease, reference.digest ?? reference.tag ?? "latest");
  let manifest = target;
  for (;;) {
    const parsed = parseManifest(await store.readDocument(manifest), `manifest ${manifest}`);
    if ("manifest" in parsed) {
      const { config, layers } = parsed.manifest;
      await session.blobs(store, lease, [config, ...layers]);
      await store.readImage(manifest);
      return { manifest, target };
    }
    const chosen = choosePlatform(parsed.index, ownPlatform(), formatReference(reference));
    if (chosen.digest === manifest) throw new ManifestError(`index ${manifest} names itself`);
    manifest = await session.manifest(store, lease, chosen.digest);
  }
}

/** The hosts of a registry, each of which is tried if those before it have failed. */
class Sessions {
  readonly #reference: Reference;
  readonly #sessions: readonly Session[];
  readonly #signal: AbortSignal | undefined;

  constructor(reference: Reference, sessions: readonly Session[], signal: AbortSignal | undefined) {
    this.#reference = reference;
    this.#sessions = sessions;
    this.#signal = signal;
  }

  manifest(store: ContentStore, lease: Lease, tagOrDigest: string): Promise<string> {
    const capability = tagOrDigest.startsWith("sha256:") ? "pulls" : "resolves";
    return this.#first(capability, (session) => session.manifest(store, lease, tagOrDigest));
  }

  blobs(store: ContentStore, lease: Lease, blobs: readonly Descriptor[]): Promise<void> {
    return this.#first("pulls", (session) => session.blobs(store, lease, blobs));
  }

  async #first<T>(capability: "pulls" | "resolves", action: (session: Session) => Promise<T>): Promise<T> {
    const able = this.#sessions.filter(({ host }) => host[capability]);
    const errors: { readonly origin: string; readonly error: Error }[] = [];
    for (const session of able)
      try {
        return await action(session);
      } catch (error) {
        this.#signal?.throwIfAborted();
        errors.push({ origin: session.host.root.origin, error: error as Error });
      }
    const last = errors.at(-1);
    if (last !== undefined && errors.length === 1) throw last.error;
    const texts = errors.map(({ origin, error }) => `${origin}: ${error.message}`).join("; ");
    const name = formatReference(this.#reference);
    throw new RegistryError(
      last === undefined
        ? `${name}: no host of the registry has the capability to ${capability.slice(0, -1)}`
        : texts,
      last?.error instanceof RegistryError ? last.error.status : 404,
      { cause: last?.error },
    );
  }
}
