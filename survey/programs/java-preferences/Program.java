import java.util.prefs.Preferences;

/** Set a preference three times and say which value is flushed; with an argument, print what is there. */
class Program {
    public static void main(String[] arguments) throws Exception {
        Preferences node = Preferences.userRoot().node("survey");
        if (arguments.length > 0) {
            System.out.println(node.get("number", "none"));
            return;
        }
        for (int number = 1; number <= 3; number++) {
            node.put("number", String.valueOf(number));
            node.flush();
            System.out.println("flushed " + number);
        }
    }
}
