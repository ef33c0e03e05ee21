// The engine, wherever it is: compiled into WebAssembly in a worker, or the process that serves this page.

/** Why there is no answer. `kind` is `wrong`, `limit` or `engine`. */
export class EngineError extends Error {
  constructor(
    readonly kind: string,
    message: string,
  ) {
    super(message);
  }
}

/** How long a call may take before the engine is ended and begun anew, in milliseconds. */
const PATIENCE = 60_000;

export interface Engine {
  readonly place: "wasm" | "local";
  call<T>(request: Record<string, unknown>): Promise<T>;
  /** Ends what is under way; the engine forgets all simulations. */
  stop(): Promise<void>;
}

function unpack<T>(text: string): T {
  const answer = JSON.parse(text) as { ok?: T; error?: { kind: string; message: string } };
  if (answer.error) throw new EngineError(answer.error.kind, answer.error.message);
  return answer.ok as T;
}

/** The process on this machine that `switchwright lab` started; calls are relative to the page's address, which has the token. */
class Local implements Engine {
  readonly place = "local" as const;

  async call<T>(request: Record<string, unknown>): Promise<T> {
    let answer: Response;
    try {
      answer = await fetch("call", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(request),
      });
    } catch {
      throw new EngineError("engine", "`switchwright lab` does not answer: was it ended?");
    }
    const text = await answer.text();
    if (!answer.ok) throw new EngineError("engine", text || `the engine answers with status ${answer.status}`);
    return unpack<T>(text);
  }

  async stop(): Promise<void> {
    await fetch("stop", { method: "POST" });
  }
}

interface Waiting {
  resolve: (text: string) => void;
  reject: (error: Error) => void;
  timer: number;
}

class InWorker implements Engine {
  readonly place = "wasm" as const;
  private worker: Worker | null = null;
  private waiting = new Map<number, Waiting>();
  private last = 0;

  private start(): Worker {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = (event: MessageEvent<{ id: number; text?: string; broken?: string }>) => {
      const { id, text, broken } = event.data;
      const waiting = this.waiting.get(id);
      if (!waiting) return;
      this.waiting.delete(id);
      clearTimeout(waiting.timer);
      if (text !== undefined) {
        waiting.resolve(text);
      } else {
        // Its memory cannot be trusted any more.
        this.end(`the engine broke off (${broken}) and was begun anew: the request needs more stack or memory than it has`);
        waiting.reject(new EngineError("engine", `the engine broke off: ${broken}`));
      }
    };
    worker.onerror = (event) => this.end(`the engine could not be started: ${event.message}`);
    return worker;
  }

  private end(why: string): void {
    this.worker?.terminate();
    this.worker = null;
    for (const waiting of this.waiting.values()) {
      clearTimeout(waiting.timer);
      waiting.reject(new EngineError("engine", why));
    }
    this.waiting.clear();
  }

  async call<T>(request: Record<string, unknown>): Promise<T> {
    this.worker ??= this.start();
    const worker = this.worker;
    const id = ++this.last;
    const text = await new Promise<string>((resolve, reject) => {
      const timer = self.setTimeout(
        () => this.end(`the request took more than ${PATIENCE / 1000} s, which is all that it is given here`),
        PATIENCE,
      );
      this.waiting.set(id, { resolve, reject, timer });
      worker.postMessage({ id, text: JSON.stringify(request) });
    });
    return unpack<T>(text);
  }

  stop(): Promise<void> {
    this.end("stopped");
    return Promise.resolve();
  }
}

export function connect(): Engine {
  const said = document.querySelector<HTMLMetaElement>('meta[name="engine"]')?.content;
  return said === "local" ? new Local() : new InWorker();
}
