// Overwrite a file three times and say which version is written. Arguments: the folder of packages, and how many.
const writeFileAtomic = require(`${process.argv[2]}/write-file-atomic`);

async function main(count) {
  for (let number = 0; number <= count; number++) {
    await writeFileAtomic('data/settings', `version ${number} `.repeat(20));
    console.log('written', number);
  }
}

main(Number(process.argv[3] ?? 3));
