/**
 * Retries an assertion until it passes. Returns its value; rejects with its last error after some seconds.
 */
export async function eventually<T>(check: () => T | Promise<T>, milliseconds = 30_000): Promise<T> {
  for (const end = Date.now() + milliseconds; ; ) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
