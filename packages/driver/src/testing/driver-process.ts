import { rm } from "node:fs/promises";
import { type Client, type Clock, systemClock } from "@dray/client";
import { type Channel, unixChannel } from "@dray/rpc";
import { RegistrationDefinition } from "@dray/rpc/pluginregistration/v1";
import type { CrashStep } from "../claims/steps.ts";
import { type SocketPaths, socketPaths } from "../plugin/plugin.ts";
import { type RunOptions, runDriverInSteps } from "../run.ts";
import type { Driver } from "../types/driver.ts";

/** Milliseconds that a call of the kubelet may take (45 s), and that anything else may. */
export const callTimeout = 45_000;
const startTimeout = 30_000;

/**
 * Milliseconds by which the clock leaps when a driver ends: nobody waits here for claims that stay prepared.
 */
const endLeap = 60_000;

/** The error with which a driver "dies". */
class SimulatedCrash extends Error {
  override readonly name = "SimulatedCrash";
}

/** A driver that has registered. */
export interface RunningDriver {
  readonly stop: AbortController;
  /** Never rejects. */
  readonly ended: Promise<Error | undefined>;
  readonly dra: Channel;
  readonly v1: boolean;
  readonly name: string;
  crashed: boolean;
}

type Settings = Pick<
  RunOptions,
  "client" | "nodeName" | "registrarDirectory" | "pluginsDirectory" | "cdiDirectory" | "log" | "serialize"
> &
  Partial<Pick<RunOptions, "podUID" | "nodeAPIs">>;

/** A clock of the system whose time can leap. */
export class LeapingClock implements Clock {
  #leap = 0;
  readonly after = systemClock.after;

  now(): number {
    return systemClock.now() + this.#leap;
  }

  leap(milliseconds: number): void {
    this.#leap += milliseconds;
  }
}

/** Runs a driver that can be stopped, crash and start again, as if each start were a process of its own. */
export class DriverProcess<P> {
  readonly #make: () => Driver<P>;
  readonly #settings: Settings;
  readonly #clock: LeapingClock;
  /** Log of the driver, for errors. */
  readonly #lines: readonly string[];
  readonly #crashes = new Set<CrashStep>();
  readonly #publicationHandlers = new Set<() => void>();
  #boots = 1;
  #publications = 0;
  #running: RunningDriver | undefined;

  constructor(make: () => Driver<P>, settings: Settings, clock: LeapingClock, lines: readonly string[]) {
    this.#make = make;
    this.#settings = settings;
    this.#clock = clock;
    this.#lines = lines;
  }

  get client(): Client {
    return this.#settings.client;
  }

  /** The running driver. Throws if there is not one. */
  get running(): RunningDriver {
    if (this.#running === undefined) throw new Error("the driver does not run: call start()");
    return this.#running;
  }

  crashAt(step: CrashStep): void {
    this.#crashes.add(step);
  }

  async start(): Promise<void> {
    if (this.#running !== undefined) throw new Error("the driver runs already");
    const driver = this.#make();
    const before = this.#publications;
    const stop = new AbortController();
    const self: { one?: RunningDriver } = {};
    const ended = this.#run(driver, stop.signal, self);
    const { registrarDirectory, pluginsDirectory, podUID } = this.#settings;
    const paths: SocketPaths = socketPaths(driver.name, {
      registrarDirectory,
      pluginsDirectory,
      ...(podUID === undefined ? {} : { podUID }),
    });
    const registration = unixChannel(paths.registration);
    try {
      await this.#orEnd(ended, "the registration socket", registration.ready(startTimeout));
      const kubelet = registration.caller(RegistrationDefinition);
      const { endpoint, supportedVersions } = await kubelet.getInfo({}, { timeout: callTimeout });
      const dra = unixChannel(endpoint);
      await this.#orEnd(ended, "the driver's socket", dra.ready(startTimeout));
      await kubelet.notifyRegistrationStatus({ pluginRegistered: true, error: "" }, { timeout: callTimeout });
      const v1 = supportedVersions.includes("v1.DRAPlugin");
      this.#running = { stop, ended, dra, v1, name: driver.name, crashed: false };
      self.one = this.#running;
    } catch (error) {
      stop.abort();
      await ended;
      throw error;
    } finally {
      registration.close();
    }
    await this.#orEnd(ended, "the publication of the devices", this.#publicationAfter(before));
  }

  /** Ends the driver as a signal does. Resolves with the error that it ended with. */
  async end(): Promise<Error | undefined> {
    const one = this.#running;
    if (one === undefined) return undefined;
    this.#running = undefined;
    one.stop.abort();
    setImmediate(() => this.#clock.leap(endLeap));
    one.dra.close();
    return one.ended;
  }

  async stop(): Promise<void> {
    const error = await this.end();
    if (error !== undefined) throw endError(error);
  }

  async reboot(): Promise<void> {
    await this.end();
    this.#boots++;
    await rm(this.#settings.cdiDirectory, { recursive: true, force: true });
  }

  /** Calls the driver. After a crash at a step it does not run any more. */
  async call<T>(work: (one: RunningDriver) => Promise<T>): Promise<T> {
    const one = this.running;
    try {
      return await work(one);
    } finally {
      if (one.crashed) await this.end();
    }
  }

  /** Waits for the next publication after what `change` does. */
  async published(change: () => void): Promise<void> {
    const { ended } = this.running;
    const before = this.#publications;
    change();
    await this.#orEnd(ended, "the publication of the change", this.#publicationAfter(before));
  }

  #run(
    driver: Driver<P>,
    signal: AbortSignal,
    self: { readonly one?: RunningDriver },
  ): RunningDriver["ended"] {
    return runDriverInSteps(
      driver,
      {
        ...this.#settings,
        clock: this.#clock,
        signal,
        bootID: `boot-${this.#boots}`,
        onPublished: () => {
          this.#publications++;
          for (const handler of this.#publicationHandlers) handler();
        },
      },
      (step) => {
        if (self.one?.crashed !== true && !this.#crashes.delete(step)) return;
        if (self.one !== undefined) self.one.crashed = true;
        throw new SimulatedCrash(`the driver dies at ${step}`);
      },
    ).then(
      () => undefined,
      (error: Error) => error,
    );
  }

  /** Resolves with `work`, unless the driver ends before. */
  async #orEnd<T>(ended: RunningDriver["ended"], what: string, work: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const fail = (): void =>
        reject(
          new Error(
            `${what} has not happened within ${startTimeout / 1000} s; log:\n${this.#lines.join("\n")}`,
          ),
        );
      timer = setTimeout(fail, startTimeout);
    });
    try {
      return await Promise.race([
        work,
        late,
        ended.then((error): never => {
          throw endError(error);
        }),
      ]);
    } finally {
      clearTimeout(timer);
    }
  }

  #publicationAfter(count: number): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.#publications <= count) return;
        this.#publicationHandlers.delete(look);
        resolve();
      };
      this.#publicationHandlers.add(look);
      look();
    });
  }
}

export function endError(error: Error | undefined): Error {
  return new Error(`the driver ended${error === undefined ? "" : `: ${error.message}`}`, { cause: error });
}
