// Put two entries into a cache and say which is in. Argument: the folder of packages.
const cacache = require(`${process.argv[2]}/cacache`);

async function main() {
  for (let number = 1; number <= 2; number++) {
    await cacache.put('data/cache', `key-${number}`, `value ${number} `.repeat(20));
    console.log('put', number);
  }
}

main();
