import io.helidon.common.media.type.MediaTypes;
import io.helidon.http.Method;
import io.helidon.http.PathMatchers;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.Handler;
import io.helidon.webserver.http.HttpRouting;

/** Helidon SE: a virtual thread for each connection. */
public final class Server {
    record Hello(String hello) {}

    public static void main(String[] args) {
        var routing = HttpRouting.builder();
        get(routing, "/", (request, response) -> {
            response.headers().contentType(MediaTypes.TEXT_PLAIN);
            response.send("ok");
        });
        get(routing, "/hello/{nonce}", (request, response) ->
                response.send(new Hello(request.path().pathParameters().get("nonce"))));

        WebServer.builder().host("0.0.0.0").port(8080).routing(routing).build().start();
    }

    /** A route for GET is none for HEAD, unless both are named. */
    private static void get(HttpRouting.Builder routing, String pattern, Handler handler) {
        routing.route(Method.predicate(Method.GET, Method.HEAD), PathMatchers.create(pattern), handler);
    }
}
