// The engine as WebAssembly: text in, text out, one call after the other.
import address from "./engine.wasm?url";

interface Exports {
  memory: WebAssembly.Memory;
  room(bytes: number): number;
  call(): number;
  answer(): number;
}

const loaded: Promise<Exports> = fetch(address)
  .then(async (file) => WebAssembly.instantiate(await file.arrayBuffer(), {}))
  .then((made) => made.instance.exports as unknown as Exports);

const encoder = new TextEncoder();
const decoder = new TextDecoder();

self.onmessage = async (event: MessageEvent<{ id: number; text: string }>) => {
  const { id, text } = event.data;
  try {
    const engine = await loaded;
    const request = encoder.encode(text);
    const at = engine.room(request.length);
    new Uint8Array(engine.memory.buffer, at, request.length).set(request);
    const length = engine.call();
    const answer = new Uint8Array(engine.memory.buffer, engine.answer(), length);
    self.postMessage({ id, text: decoder.decode(answer) });
  } catch (error) {
    self.postMessage({ id, broken: error instanceof Error ? error.message : String(error) });
  }
};
