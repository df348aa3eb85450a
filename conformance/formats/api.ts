import type { Case, Fields, Format, Outcome } from "../format.ts";
import { Connection } from "../scenarios/connection.ts";
import { play } from "../scenarios/play.ts";
import { readScenario } from "../scenarios/scenario.ts";
import { otherServer, TestServer } from "../scenarios/server.ts";

/** One server, on which one scenario is played at a time: scenarios share names of cluster-scoped objects. */
interface Lane {
  readonly release: string;
  readonly server: TestServer;
  readonly connection: Connection;
}

/** Requests to an API server with what kube-apiserver answered, played on `dray apiserver` over HTTPS. */
class ApiFormat implements Format {
  readonly name = "API scenarios";
  readonly #lanes: Lane[] = [];
  #idle: Lane[] = [];

  recognises(line: Fields): boolean {
    return Array.isArray(line["steps"]);
  }

  read(line: Fields): Case {
    const scenario = readScenario(line);
    return {
      id: scenario.name,
      question: "",
      concurrent: otherServer === undefined,
      replay: async (): Promise<Outcome> => {
        const lane = this.#takeIdle(scenario.release) ?? (await this.#open(scenario.release));
        try {
          return { differences: await play(scenario, lane.connection) };
        } finally {
          this.#idle.push(lane);
        }
      },
    };
  }

  #takeIdle(release: string): Lane | undefined {
    const at = this.#idle.findIndex((lane) => otherServer !== undefined || lane.release === release);
    return at < 0 ? undefined : this.#idle.splice(at, 1)[0];
  }

  /** One more server, where all are busy. */
  async #open(release: string): Promise<Lane> {
    const server = await TestServer.start(release);
    const lane = { release, server, connection: new Connection(server.administrator) };
    this.#lanes.push(lane);
    return lane;
  }

  async close(): Promise<void> {
    this.#idle = [];
    for (const { connection, server } of this.#lanes.splice(0)) {
      connection.close();
      await server.close();
    }
  }
}

export const apiFormat = new ApiFormat();
