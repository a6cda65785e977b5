import io.vertx.core.AbstractVerticle;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Route;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.handler.BodyHandler;

/** One verticle: an event loop for each CPU, as Vert.x advises, and the kit gives one. */
public final class Server extends AbstractVerticle {
    private static final int BODY_LIMIT = 64 * 1024;

    public static void main(String[] args) {
        Vertx.vertx().deployVerticle(new Server()).onFailure(error -> {
            error.printStackTrace();
            System.exit(1);
        });
    }

    @Override
    public void start(Promise<Void> started) {
        var router = Router.router(vertx);
        get(router, "/").handler(context -> context.response().putHeader(HttpHeaders.CONTENT_TYPE, "text/plain").end("ok"));
        get(router, "/hello/:nonce")
                .handler(context -> context.json(new JsonObject().put("hello", context.pathParam("nonce"))));
        get(router, "/catalog").handler(Catalog.parameters(vertx)).handler(new Catalog(vertx));
        router.post("/validate").handler(BodyHandler.create(false).setBodyLimit(BODY_LIMIT)).handler(new Validate(vertx));
        get(router, "/upstream/:nonce").handler(new Upstream(vertx));
        vertx.createHttpServer().requestHandler(router).listen(8080, "0.0.0.0").<Void>mapEmpty().onComplete(started);
    }

    /** A route for GET is none for HEAD, unless both are named. */
    private static Route get(Router router, String path) {
        return router.route(path).method(HttpMethod.GET).method(HttpMethod.HEAD);
    }
}
