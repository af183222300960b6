// Follows who leads: node follow.mjs http://127.0.0.1:9200/events
// In a page: new EventSource("/events").addEventListener("leader", (event) => console.log(event.data));
let last = "";
for (;;) {
  try {
    const reply = await fetch(process.argv[2], { headers: { "Last-Event-ID": last } });
    let rest = "";
    for await (const part of reply.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        if (line.startsWith("data: ")) console.log(line.slice(6));
        if (line.startsWith("id: ")) last = line.slice(4);
      }
    }
  } catch (error) { console.error(error.message); }
  await new Promise((wait) => setTimeout(wait, 1000));
}
