import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@dray/testing/eventually";
import { freePorts } from "@dray/testing/ports";

/** Returns why tests with a real etcd cannot run here; undefined if they can. */
export const withoutEtcd =
  spawnSync("etcd", ["--version"]).status === 0 ? undefined : "etcd is not on the PATH (Debian: etcd-server)";

/** Files in PEM. */
export interface Tls {
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

/** An etcd of one member with its own data, for tests. */
export class TestEtcd {
  readonly #folder = mkdtempSync(join(tmpdir(), "dray-etcd-"));
  #child: ChildProcess | undefined;
  #ports: readonly [number, number] = [0, 0];

  readonly #tls: Tls | undefined;

  /** With `tls` clients must have a certificate of its authority. */
  constructor(tls?: Tls) {
    this.#tls = tls;
  }

  /** URL for clients: the same after every start. */
  get url(): string {
    return `${this.#tls ? "https" : "http"}://127.0.0.1:${this.#ports[0]}`;
  }

  /** Starts etcd on the data of the run before, and waits until it answers. */
  async start(): Promise<void> {
    if (this.#ports[0] === 0) {
      const [clients = 0, peers = 0] = await freePorts(2);
      this.#ports = [clients, peers];
    }
    const peer = `http://127.0.0.1:${this.#ports[1]}`;
    const child = spawn(
      "etcd",
      [
        ["--data-dir", join(this.#folder, "data")],
        ["--listen-client-urls", this.url, "--advertise-client-urls", this.url],
        ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer],
        ["--initial-cluster", `default=${peer}`, "--log-level", "error", "--log-outputs", "stderr"],
        this.#tls
          ? ["--client-cert-auth", "--trusted-ca-file", this.#tls.authority].concat([
              "--cert-file",
              this.#tls.certificate,
              "--key-file",
              this.#tls.key,
            ])
          : [],
      ].flat(),
      { stdio: "ignore" },
    );
    this.#child = child;
    await eventually("etcd starts", () => {
      assert.equal(child.exitCode, null, "etcd has ended");
      return this.#answers();
    });
  }

  async #answers(): Promise<boolean> {
    if (this.#tls === undefined)
      return (await fetch(`${this.url}/health`).catch(() => undefined))?.ok ?? false;
    const socket = connect(this.#ports[0], "127.0.0.1");
    const connected = await once(socket, "connect").catch(() => undefined);
    socket.destroy();
    return connected !== undefined;
  }

  /** SIGKILL is how it ends in a crash; SIGSTOP and SIGCONT make it hang for a while. */
  async signal(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT"): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    if (signal === "SIGKILL") await once(child, "exit");
  }

  /** Ends etcd and removes its data. */
  async remove(): Promise<void> {
    await this.signal("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
