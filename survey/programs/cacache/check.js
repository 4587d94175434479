// What the cache gives must be right; what it lost, or refuses, must be there again after it was put again.
const cacache = require(`${process.argv[2]}/cacache`);

async function main() {
  const cache = `${process.env.POWERCUT_DIR}/cache`;
  for (let number = 1; number <= 2; number++) {
    const value = `value ${number} `.repeat(20);
    const found = await cacache.get(cache, `key-${number}`).catch(() => null);
    if (found && found.data.toString() !== value) throw new Error(`another value for ${number}`);
    if (!found) {
      await cacache.put(cache, `key-${number}`, value);
      await cacache.get(cache, `key-${number}`);
    }
  }
}

main().catch((error) => {
  console.log(String(error));
  process.exitCode = 1;
});
