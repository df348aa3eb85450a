import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Certificate, issueCertificate } from "@dray/apiserver";
import { type Client, createClient, httpsTransport, loadKubeconfig, writeKubeconfig } from "@dray/client";

/** Makes kubeconfigs for users of one API server: client certificates of its authority. */
export class Users {
  readonly #folder: string;
  readonly #server: string;
  readonly #authority: Certificate;

  constructor(folder: string, server: string, authority: Certificate) {
    this.#folder = folder;
    this.#server = server;
    this.#authority = authority;
  }

  /** The path of a kubeconfig for the user `name` in `groups`. */
  async kubeconfig(name: string, groups: readonly string[] = []): Promise<string> {
    const file = join(this.#folder, `${name.replaceAll(":", "-")}.kubeconfig`);
    const { certificate, key } = await issueCertificate(
      this.#authority,
      { commonName: name, organizations: groups, usages: ["client"] },
      Date.now(),
    );
    await writeKubeconfig(file, {
      name: "interop",
      server: this.#server,
      ca: this.#authority.certificate,
      cert: certificate,
      key,
    });
    return file;
  }

  /** Paths of a certificate and its key with which the node `name` serves on an address. */
  async serving(
    name: string,
    address = "127.0.0.1",
  ): Promise<{ readonly certificate: string; readonly key: string }> {
    const issued = await issueCertificate(
      this.#authority,
      {
        commonName: `system:node:${name}`,
        organizations: ["system:nodes"],
        dnsNames: [name],
        ipAddresses: [address],
        usages: ["server"],
      },
      Date.now(),
    );
    const write = (suffix: string, text: string): string => {
      const file = join(this.#folder, `${name}-serving.${suffix}`);
      writeFileSync(file, text, { mode: 0o600 });
      return file;
    };
    return { certificate: write("crt", issued.certificate), key: write("key", issued.key) };
  }

  /** A client that is the user `name` in `groups`. */
  async client(name: string, groups: readonly string[] = []): Promise<Client> {
    return connect(await this.kubeconfig(name, groups));
  }
}

/** A client for a kubeconfig. */
export async function connect(kubeconfig: string): Promise<Client> {
  const { connection } = await loadKubeconfig({ file: kubeconfig });
  return createClient({ transport: httpsTransport(connection), userAgent: "interop" });
}
