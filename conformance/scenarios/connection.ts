import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { parse } from "yaml";

/** How a server is reached as its administrator. */
export interface Administrator {
  readonly server: string;
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
}

/** The first cluster and user of a kubeconfig: certificates inline or by path, or a token. */
export function readAdministrator(path: string): Administrator {
  interface Named {
    readonly cluster: { readonly server: string };
    readonly user: Readonly<Record<string, string | undefined>>;
  }
  const config = parse(readFileSync(path, "utf8")) as { clusters: Named[]; users: Named[] };
  const { user } = config.users[0]!;
  const pem = (name: string): string | undefined => {
    const data = user[`${name}-data`];
    if (data !== undefined) return Buffer.from(data, "base64").toString();
    const file = user[name];
    return file === undefined ? undefined : readFileSync(file, "utf8");
  };
  const [cert, key] = [pem("client-certificate"), pem("client-key")];
  return {
    server: config.clusters[0]!.cluster.server,
    ...(cert !== undefined && key !== undefined ? { cert, key } : {}),
    ...(user["token"] === undefined ? {} : { token: user["token"] }),
  };
}

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer | undefined;
}

/**
 * Sends requests byte for byte as they are written, over HTTP/1.1, with or without the administrator's
 * credentials.
 */
export class Connection {
  readonly #server: URL;
  readonly #token: string | undefined;
  readonly #administrator: Agent;
  readonly #nobody = new Agent({ keepAlive: true, rejectUnauthorized: false });

  constructor(administrator: Administrator) {
    this.#server = new URL(administrator.server);
    this.#token = administrator.token;
    const { cert, key } = administrator;
    this.#administrator = new Agent({
      keepAlive: true,
      rejectUnauthorized: false,
      ...(cert !== undefined && key !== undefined ? { cert, key } : {}),
    });
  }

  close(): void {
    this.#administrator.destroy();
    this.#nobody.destroy();
  }

  /** `seconds`: a stream is read for so long at most. `anonymous`: no credentials but those in `headers`. */
  send(
    { method, path, headers, body }: RawRequest,
    options: { readonly anonymous: boolean; readonly seconds?: number },
  ): Promise<RawAnswer> {
    const credentials =
      options.anonymous || this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
    const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
    const sent = request(
      {
        host: this.#server.hostname,
        port: this.#server.port,
        method,
        path,
        agent: options.anonymous ? this.#nobody : this.#administrator,
        headers: {
          ...credentials,
          ...(headers as Record<string, string | string[]>),
          ...(body === undefined ? {} : { "content-length": String(body.length) }),
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        const finish = (): void => {
          clearTimeout(timer);
          resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) });
        };
        const timer =
          options.seconds === undefined
            ? undefined
            : setTimeout(() => {
                finish();
                response.destroy();
              }, options.seconds * 1000);
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", finish);
        response.on("error", reject);
      },
    );
    sent.on("error", reject);
    sent.end(body);
    return promise;
  }
}
