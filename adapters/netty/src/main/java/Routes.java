import static io.netty.handler.codec.http.HttpResponseStatus.BAD_REQUEST;
import static io.netty.handler.codec.http.HttpResponseStatus.METHOD_NOT_ALLOWED;
import static io.netty.handler.codec.http.HttpResponseStatus.NOT_FOUND;
import static io.netty.handler.codec.http.HttpResponseStatus.OK;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.DateFormatter;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.util.Date;
import tools.jackson.databind.json.JsonMapper;

/** Answers a request once its head is there; no route has a use for a body. */
final class Routes extends SimpleChannelInboundHandler<HttpObject> {
    private static final JsonMapper JSON = new JsonMapper();
    private static final String HELLO = "/hello/";

    record Hello(String hello) {}

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject message) {
        if (message instanceof HttpRequest request) context.write(answer(request));
    }

    // All that one read brought is answered with one write.
    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        context.flush();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.close();
    }

    private static FullHttpResponse answer(HttpRequest request) {
        if (request.decoderResult().isFailure()) return text(BAD_REQUEST, "Bad Request");
        var uri = new QueryStringDecoder(request.uri());
        var path = uri.rawPath();
        boolean hello = path.startsWith(HELLO) && path.length() > HELLO.length() && path.indexOf('/', HELLO.length()) < 0;
        if (!hello && !path.equals("/")) return text(NOT_FOUND, "Not Found");
        if (!request.method().equals(HttpMethod.GET) && !request.method().equals(HttpMethod.HEAD)) {
            return text(METHOD_NOT_ALLOWED, "Method Not Allowed");
        }
        if (!hello) return text(OK, "ok");
        try {
            return reply(OK, "application/json", JSON.writeValueAsBytes(new Hello(uri.path().substring(HELLO.length()))));
        } catch (IllegalArgumentException e) {
            return text(BAD_REQUEST, "Bad Request"); // a percent sign that encodes nothing
        }
    }

    private static FullHttpResponse text(HttpResponseStatus status, String body) {
        return reply(status, "text/plain", body.getBytes());
    }

    // Netty adds no header of its own. For HEAD its codec drops the body and keeps the length.
    private static FullHttpResponse reply(HttpResponseStatus status, String type, byte[] body) {
        var response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, Unpooled.wrappedBuffer(body));
        response.headers()
                .set(HttpHeaderNames.CONTENT_TYPE, type)
                .setInt(HttpHeaderNames.CONTENT_LENGTH, body.length)
                .set(HttpHeaderNames.DATE, DateFormatter.format(new Date()));
        return response;
    }
}
