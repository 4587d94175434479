import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;

/** Replace a file three times as the API offers it, and say which version is saved; with an argument, write the first. */
class Program {
    static void save(int number) throws IOException {
        Path fresh = Path.of("data/config.new");
        try (FileChannel channel = FileChannel.open(fresh, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(("version " + number + "\n").repeat(500).getBytes()));
            channel.force(true);
        }
        Files.move(fresh, Path.of("data/config"), StandardCopyOption.ATOMIC_MOVE);
        try (FileChannel folder = FileChannel.open(Path.of("data"), StandardOpenOption.READ)) {
            folder.force(true);
        }
        System.out.println("saved " + number);
    }

    public static void main(String[] arguments) throws IOException {
        for (int number = arguments.length > 0 ? 0 : 1; number <= (arguments.length > 0 ? 0 : 3); number++) {
            save(number);
        }
    }
}
