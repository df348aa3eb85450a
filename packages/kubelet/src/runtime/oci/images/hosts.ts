import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";

// As a whole, since Node 20 lacks one of its functions, and the package has to load there to report that.
import tls, { type SecureContextOptions } from "node:tls";
import { parse, TomlError } from "smol-toml";

/** A host from which images of a registry are fetched: the registry itself, or a mirror. */
export interface RegistryHost {
  /** Root of its API, with `/` at its end. */
  readonly root: URL;
  /** A mirror of another registry, which requests name as `?ns=`; credentials of pods are not sent to it. */
  readonly isMirror: boolean;
  /** It resolves tags to digests. */
  readonly resolves: boolean;
  /** It serves manifests and blobs by digest. */
  readonly pulls: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: Pick<SecureContextOptions, "ca" | "cert" | "key"> & { readonly rejectUnauthorized?: false };
}

/** A file of registry hosts is invalid. */
class RegistryHostsError extends Error {
  override readonly name = "RegistryHostsError";
}

export interface RegistryHostsOptions {
  /**
   * Folder with a folder for each registry, named as its host (`docker.io`, `example.com:5000` or
   * `example.com_5000_`), or `_default`; each has a file `hosts.toml`. Read for each pull.
   *
   * https://github.com/containerd/containerd/blob/main/docs/hosts.md
   */
  readonly registryHosts?: string;
  /** Hosts (`example.com:5000`) without TLS; those of the loopback interface never use it. */
  readonly insecure?: readonly string[];
}

/**
 * Returns the hosts for images of a registry, in order. The file's `dial_timeout` is ignored. Throws
 * RegistryHostsError for an invalid file.
 *
 * Upstream: github.com/containerd/containerd/v2/core/remotes/docker/config/hosts.go.
 */
export async function hostsOf(domain: string, options: RegistryHostsOptions): Promise<RegistryHost[]> {
  const own = domain === "docker.io" ? "registry-1.docker.io" : domain;
  const scheme = isLoopback(own) || options.insecure?.includes(own) ? "http" : "https";
  const registry: RegistryHost = {
    root: new URL(`${scheme}://${own}/v2/`),
    isMirror: false,
    resolves: true,
    pulls: true,
    headers: {},
    tls: {},
  };
  const folder = options.registryHosts === undefined ? undefined : folderOf(options.registryHosts, domain);
  if (folder === undefined) return [registry];
  const file = new HostsFile(folder);
  const content = await file.read();
  if (content === undefined) return [registry];
  const { server, host: mirrors = {}, ...rest } = content;
  const hosts = await Promise.all(
    Object.entries(file.table("host", mirrors)).map(([url, fields]) =>
      file.host(`host."${url}"`, url, file.table(`host."${url}"`, fields), own),
    ),
  );
  // Without a server its settings apply to the registry itself.
  const last = server === undefined ? registry.root.origin : file.text("server", server);
  return [...hosts, await file.host("server", last, rest, own)];
}

/** Upstream: hostPaths, hostDirectory. */
function folderOf(root: string, domain: string): string | undefined {
  const names = [domain.replace(/:(\d+)$/, "_$1_"), domain, "_default"];
  return names.map((name) => join(root, name)).find((path) => existsSync(path));
}

type Fields = Readonly<Record<string, unknown>>;

const capabilities = ["pull", "resolve", "push", "referrers"] as const;

class HostsFile {
  readonly #folder: string;
  readonly #path: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.#path = join(folder, "hosts.toml");
  }

  async read(): Promise<Fields | undefined> {
    let text: string;
    try {
      text = await readFile(this.#path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw new RegistryHostsError(`registry hosts: ${(error as Error).message}`, { cause: error });
    }
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof TomlError)) throw error;
      const [problem] = error.message.split("\n");
      throw new RegistryHostsError(`${this.#path}:${error.line}:${error.column}: ${problem}`, {
        cause: error,
      });
    }
  }

  /** Parses one of the hosts. `own`: host name of the registry. */
  async host(field: string, server: string, fields: Fields, own: string): Promise<RegistryHost> {
    const address = server.includes("://") ? server : `https://${server}`;
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol))
      return this.#fail(field, server, "the address of a host, as in https://mirror.example.com");
    const prefix = field === "server" ? "" : `${field}.`;
    const named = this.#texts(`${prefix}capabilities`, fields["capabilities"] ?? capabilities).map((name) =>
      name.toLowerCase(),
    );
    const wrong = named.find((name) => !(capabilities as readonly string[]).includes(name));
    if (wrong !== undefined) return this.#fail(`${prefix}capabilities`, wrong, capabilities.join(", "));
    const path = url.pathname.replace(/\/+$/, "");
    const isWhole = this.#flag(`${prefix}override_path`, fields["override_path"]) || path.endsWith("/v2");
    const can = (name: string): boolean => named.length === 0 || named.includes(name);
    return {
      root: new URL(`${isWhole ? path : `${path}/v2`}/`, url.origin),
      isMirror: url.host !== own,
      resolves: can("resolve"),
      pulls: can("pull"),
      headers: this.#headers(`${prefix}header`, fields["header"]),
      tls: {
        ...(fields["ca"] !== undefined && {
          ca: [
            ...tls.getCACertificates("default"),
            ...(await this.#files(`${prefix}ca`, this.#texts(`${prefix}ca`, fields["ca"]))),
          ],
        }),
        ...(await this.#client(`${prefix}client`, fields["client"])),
        ...(this.#flag(`${prefix}skip_verify`, fields["skip_verify"]) && { rejectUnauthorized: false }),
      },
    };
  }

  table(field: string, value: unknown): Fields {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
    return this.#fail(field, value, "a table");
  }

  text(field: string, value: unknown): string {
    return typeof value === "string" ? value : this.#fail(field, value, "a string");
  }

  #flag(field: string, value: unknown): boolean {
    if (value === undefined || typeof value === "boolean") return value ?? false;
    return this.#fail(field, value, "true or false");
  }

  #texts(field: string, value: unknown): readonly string[] {
    return (Array.isArray(value) ? value : [value]).map((one) => this.text(field, one));
  }

  #headers(field: string, value: unknown): Readonly<Record<string, string>> {
    const all = Object.entries(this.table(field, value ?? {}));
    return Object.fromEntries(
      all.map(([name, texts]) => [name.toLowerCase(), this.#texts(`${field}.${name}`, texts).join(", ")]),
    );
  }

  /** Files with certificate and key, or pairs of such files. */
  async #client(field: string, value: unknown): Promise<{ cert?: string[]; key?: string[] }> {
    if (value === undefined) return {};
    const texts = (Array.isArray(value) ? value : [value]).map((one) => this.#texts(field, one));
    const pairs = texts.map((names) => {
      const [cert, key, ...more] = names;
      if (cert === undefined || more.length > 0)
        return this.#fail(field, names, "files, or pairs of a certificate and its key");
      return { cert, key: key ?? cert };
    });
    return {
      cert: await this.#files(
        field,
        pairs.map(({ cert }) => cert),
      ),
      key: await this.#files(
        field,
        pairs.map(({ key }) => key),
      ),
    };
  }

  #files(field: string, names: readonly string[]): Promise<string[]> {
    return Promise.all(
      names.map(async (name) => {
        try {
          return await readFile(isAbsolute(name) ? name : join(this.#folder, name), "utf8");
        } catch (error) {
          throw new RegistryHostsError(`${this.#path}: ${field}: ${(error as Error).message}`, {
            cause: error,
          });
        }
      }),
    );
  }

  #fail(field: string, value: unknown, accepted: string): never {
    throw new RegistryHostsError(
      `${this.#path}: ${field}: ${JSON.stringify(value)}: must be ${accepted.replace(/, ([^,]+)$/, " or $1")}`,
    );
  }
}

/** Upstream: containerd, docker.MatchLocalhost. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/:\d+$/, "");
  return name === "localhost" || name === "[::1]" || /^127(\.\d+){3}$/.test(name);
}
