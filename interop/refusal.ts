import { StatusError } from "@dray/api";

/** Resolves to the code and reason with which `attempt` was refused; rejects if it was not. */
export async function refusal(what: string, attempt: Promise<unknown>): Promise<StatusError> {
  try {
    await attempt;
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
  throw new Error(`${what} was not refused`);
}
