// Open the storage: its item is readable, and not older than the last that was set.
const { readFileSync } = require('node:fs');
const storage = require(`${process.argv[2]}/node-persist`);

async function main() {
  const told = readFileSync(process.env.POWERCUT_ACKED, 'utf8').split('\n').slice(0, -1).map((line) => Number(line.split(' ')[1]));
  await storage.init({ dir: `${process.env.POWERCUT_DIR}/store` });
  const item = await storage.getItem('settings');
  if (!(item?.version >= Math.max(0, ...told))) throw new Error(`set ${told}, found ${item?.version}`);
}

main().catch((error) => {
  console.log(String(error));
  process.exitCode = 1;
});
